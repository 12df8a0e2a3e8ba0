/** What is promised, by which algorithm, and who is a person. */

import { make } from "../element";
import { choice, labelled, said, sliding, text } from "./control";
import { help } from "./help";
import type { Sheet, State } from "./model";

const K = [2, 3, 5, 8, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500];
const WINDOW = [50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000, 20000];
const Z = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];
const KINDS: [string, string][] = [
  ["count", "arrivals at most"],
  ["time", "of time, such as 30s"],
  ["buffer", "tuples held, no deadline"],
];
const MEANING: Record<string, string> = {
  tide: "the default",
  zanon: "for transactions",
};

type Changed = (again?: boolean) => void;

export class Settings {
  private z?: ReturnType<typeof sliding>;
  private isOpen = false;
  private aboutOpen = false;

  constructor(private readonly place: HTMLElement, private readonly people: HTMLElement, private readonly state: State) {}

  /** Lay out anew; `changed(true)` asks for that. */
  draw(sheet: Sheet, changed: Changed): void {
    const names = Object.keys(this.state.algorithms).sort((a, b) => Number(b === "tide") - Number(a === "tide"));
    const options = names.map((name): [string, string] => [name, MEANING[name] ? `${name}: ${MEANING[name]}` : name]);
    const algorithm = choice(sheet.algorithm, options, (value) => {
      sheet.algorithm = value;
      changed(true);
    });
    const controls = sheet.algorithm === "zanon" ? this.filter(sheet, changed) : this.windowed(sheet, changed);
    this.place.replaceChildren(
      make("h2", {}, "The promise"),
      make("div", { class: "grid" }, ...controls, labelled("Algorithm", algorithm, "algorithm", "", [], undefined, "algorithm")),
      ...(sheet.algorithm === "zanon" ? [] : [this.further(sheet, changed)]),
    );
    this.drawPeople(sheet, changed);
  }

  showZ(value: string): void {
    this.z?.show(value);
  }

  private windowed(sheet: Sheet, changed: Changed): HTMLElement[] {
    const k = sliding("k: persons a record hides among", sheet.k, K, (value) => {
      sheet.k = value;
      changed();
    });
    const kind = choice(sheet.kind, KINDS, (value) => {
      sheet.kind = value as Sheet["kind"];
      changed();
    }, { "aria-label": "What the window counts" });
    const window = sliding("Window: how long a record may wait", sheet.window, WINDOW, (value) => {
      sheet.window = value;
      changed();
    });
    return [
      labelled("k: persons a record hides among", k.input, "privacy", "", [], k.slider, "k"),
      labelled("Window: how long a record may wait", window.input, "window", "", [kind], window.slider, "window"),
    ];
  }

  /** What k alone does not promise; each with one sentence on what it buys. */
  private further(sheet: Sheet, changed: Changed): HTMLElement {
    const figure = (key: "l" | "t" | "across", again = false) => text(sheet[key], (value) => {
      sheet[key] = value;
      changed(again);
    }, { class: "figure", id: `set-${key}`, placeholder: "none" });
    const across = make("input", { type: "checkbox", id: "across-switch" });
    across.checked = Boolean(sheet.across);
    across.addEventListener("change", () => {
      sheet.across = across.checked ? "3" : "";
      changed(true);
    });
    const nulls = choice(sheet.nulls_match || "blurred", [["blurred", "blurred: shown in doubt for all"], ["extended", "extended: null for all"], ["root", "root: hidden for all"], ["maybe", "maybe: each its own"]], (value) => {
      sheet.nulls_match = (value === "blurred" ? "" : value) as Sheet["nulls_match"];
      changed();
    });
    const suppressed = choice(sheet.suppressed || "blank", [["blank", "blank: all values null"], ["publish", "publish: other values as they are"], ["drop", "drop: no row"]], (value) => {
      sheet.suppressed = (value === "blank" ? "" : value) as Sheet["suppressed"];
      changed();
    });
    const open = Boolean(sheet.l || sheet.t || sheet.across || sheet.nulls_match || sheet.suppressed || Object.keys(sheet.accept).length);
    const box = make(
      "details",
      { class: "further", id: "promises" },
      make("summary", {}, "Stronger promises, nulls, and what is accepted"),
      make(
        "div",
        { class: "grid" },
        labelled("l: different sensitive values in a group", figure("l"), "privacy.l", "So that a group does not tell a value that all its members share.", [], undefined, "l"),
        labelled("t: distance from all sensitive values", figure("t"), "privacy.t", "So that a group tells little more about a value than the whole stream does; 0 to 1, lower is stronger.", [], undefined, "t"),
        labelled("Across releases: fewest values of a block", figure("across"), "privacy.across", "So that a person who comes back stays hidden: stable attributes are published as blocks of so many values.", [make("label", { class: "tick" }, across, "on")], undefined, "across"),
        labelled("Nulls in a group", nulls, "privacy.nulls_match", "Who lacks a value should not be told apart by that; the weaker the reading, the less is lost.", [], undefined, "nulls"),
        labelled("Rows that find no group", suppressed, "suppressed", "What others see of a row that is outside k.", [], undefined, "suppressed"),
        this.accepted(sheet, changed),
      ),
    );
    box.open = open || this.isOpen;
    box.addEventListener("toggle", () => (this.isOpen = box.open));
    return box;
  }

  private accepted(sheet: Sheet, changed: Changed): HTMLElement {
    const others = this.state.attacks.filter((name) => !(name in sheet.accept));
    const add = choice("", [["", "accept an attack …"], ...others.map((name): [string, string] => [name, name])], (name) => {
      if (name) sheet.accept[name] = "5%";
      changed(true);
    }, { "aria-label": "Accept an attack" });
    const rows = Object.keys(sheet.accept).map((name) => {
      const share = text(sheet.accept[name] ?? "", (value) => {
        sheet.accept[name] = value;
        changed();
      }, { class: "figure", "aria-label": `Success of ${name} that is accepted` });
      const drop = make("button", { type: "button", "aria-label": `Do not accept ${name}` }, "×");
      drop.addEventListener("click", () => {
        delete sheet.accept[name];
        changed(true);
      });
      return make("div", { class: "together accepted" }, make("span", {}, name), share, drop);
    });
    return make(
      "div",
      { class: "control", "data-part": "privacy.accept" },
      make("div", { class: "term" }, make("span", { class: "label" }, "Accepted success of attacks"), help("accept")),
      ...rows,
      add,
      make("p", { class: "hint muted" }, "What you accept is written down; an attack that succeeds more often fails the audit."),
      said(),
    );
  }

  private filter(sheet: Sheet, changed: Changed): HTMLElement[] {
    const z = (this.z = sliding("z: users who must share an item", sheet.z, Z, (value) => {
      sheet.z = value;
      changed();
    }));
    const span = text(sheet.span, (value) => {
      sheet.span = value;
      changed();
    }, { class: "figure" });
    const item = choice(sheet.item, this.names("choose the field"), (value) => {
      sheet.item = value;
      changed(true);
    });
    return [
      labelled("z: users who must share an item", z.input, "algorithm.z", "", [], z.slider, "z"),
      labelled("Counted over, such as 1h", span, "algorithm.window"),
      labelled("Item: what users expose", item, "item"),
    ];
  }

  private drawPeople(sheet: Sheet, changed: Changed): void {
    const person = choice(sheet.person, this.names("none: each record is a person of its own"), (value) => {
      sheet.person = value;
      changed(true);
    });
    const time = choice(sheet.time, this.names("none"), (value) => {
      sheet.time = value;
      changed(true);
    });
    const publish = choice(sheet.publish, [["drop", "not published"], ["generalize", "published in steps of the window"], ["keep", "published as it is"]], (value) => {
      sheet.publish = value as Sheet["publish"];
      changed();
    }, { "aria-label": "What becomes of the time" });
    const nulls = text(sheet.nulls.map((each) => each || '""').join(", "), (value) => {
      sheet.nulls = value.split(",").map((each) => each.trim().replace(/^"(.*)"$/, "$1"));
      changed();
    });
    const about = sheet.person ? "" : (this.state.sample?.about ?? "");
    this.people.replaceChildren(
      make("h2", {}, "Who, when, and what is missing"),
      make(
        "div",
        { class: "grid" },
        labelled("Field that tells persons apart", person, "person", about, [], undefined, "person"),
        labelled("Field of the time", time, "time", "", sheet.time && sheet.algorithm !== "zanon" ? [publish] : [], undefined, "time"),
        labelled("Texts that mean missing", nulls, "nulls"),
      ),
      this.about(sheet, changed),
    );
  }

  /** What reports repeat: the purpose, and who answers for it. */
  private about(sheet: Sheet, changed: Changed): HTMLElement {
    const about = (key: "purpose" | "recipients" | "controller" | "contact", label: string, hint: string) =>
      labelled(label, text(sheet[key], (value) => {
        sheet[key] = value;
        changed();
      }), `about.${key}`, hint);
    const box = make(
      "details",
      { class: "further", id: "about" },
      make("summary", {}, "Purpose and responsibility"),
      make(
        "div",
        { class: "grid" },
        about("purpose", "Purpose", "What the output is for. The report and the impact assessment repeat it."),
        about("recipients", "Recipients", "Who gets the output, between commas."),
        about("controller", "Controller", "Who answers for the data, and for what is accepted."),
        about("contact", "Contact", "Where questions go."),
      ),
    );
    box.open = this.aboutOpen;
    box.addEventListener("toggle", () => (this.aboutOpen = box.open));
    return box;
  }

  private names(none: string): [string, string][] {
    return [["", none], ...(this.state.sample?.fields ?? []).map((name): [string, string] => [name, name])];
  }
}
