/** What is promised, by which algorithm, and who is a person. */

import { make } from "../element";
import { choice, labelled, sliding, text } from "./control";
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
      make("div", { class: "grid" }, ...controls, labelled("Algorithm", algorithm, "algorithm")),
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
      labelled("k: persons a record hides among", k.input, "privacy", "", [], k.slider),
      labelled("Window: how long a record may wait", window.input, "window", "", [kind], window.slider),
    ];
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
      labelled("z: users who must share an item", z.input, "algorithm.z", "", [], z.slider),
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
        labelled("Field that tells persons apart", person, "person", about),
        labelled("Field of the time", time, "time", "", sheet.time && sheet.algorithm !== "zanon" ? [publish] : []),
        labelled("Texts that mean missing", nulls, "nulls"),
      ),
    );
  }

  private names(none: string): [string, string][] {
    return [["", none], ...(this.state.sample?.fields ?? []).map((name): [string, string] => [name, name])];
  }
}
