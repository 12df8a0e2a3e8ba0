/** The hierarchy of a field: as a tree, as a text, or built by a rule; from a file; completed from the sample. */

import { make, write } from "../element";
import { count } from "../format";
import { built, hierarchy, lacking, Refused, writtenOut } from "./api";
import { choice, text } from "./control";
import { format, parse, size } from "./labels";
import { type Entry, noted } from "./model";
import { Tree } from "./tree";

type Pane = "tree" | "text" | "rule";

interface Kind {
  key: string;
  says: string;
  levels?: string; // an example
  range?: string;
  by?: string[];
}

const KINDS: Kind[] = [
  { key: "prefix", says: "codes by their first characters", levels: "3, 2", range: "00000, 99999" },
  { key: "bands", says: "numbers in bands", levels: "5, 10, 20", range: "0, 119" },
  { key: "dates", says: "days by month and year", levels: "month, quarter, year", range: "2020-01-01, 2025-12-31" },
  { key: "networks", says: "addresses by network", levels: "24, 16", range: "10.1.0.0/16" },
  { key: "cells", says: "places in cells of a map", levels: "0.1, 0.5", range: "48, 2, 49, 3" },
  { key: "icd10", says: "diagnoses of ICD-10" },
  { key: "countries", says: "countries", by: ["name", "alpha-2", "alpha-3"] },
  { key: "education", says: "education, ISCED 2011", by: ["name", "code"] },
  { key: "occupation", says: "occupations, ISCO-08", by: ["name", "code"] },
];
const MARK = "UNSORTED";
const PAUSE = 300; // milliseconds after a change before the sample is asked

/** Which hierarchies are unfolded, and how they are shown, while the fields are drawn anew. */
const unfolded = new Map<string, boolean>();
const panes = new Map<string, Pane>();

export class HierarchyBox {
  readonly element: HTMLDetailsElement;
  private readonly size = make("small", { class: "muted" });
  private readonly area: HTMLTextAreaElement;
  private readonly note = make("p", { class: "muted hint", role: "status" });
  private readonly place = make("div", { class: "pane" });
  private readonly lack = make("div", { class: "together lacking" });
  private readonly tabs = new Map<Pane, HTMLButtonElement>();
  private tree: Tree | undefined;
  private timer = 0;
  private kind = KINDS[0]!;
  private given = { levels: KINDS[0]!.levels ?? "", range: "", by: "" };

  constructor(private readonly entry: Entry, private readonly changed: () => void) {
    this.area = this.text();
    const file = make("input", { type: "file", accept: ".csv", "aria-label": `File with the hierarchy of ${entry.name}` });
    file.addEventListener("change", () => void this.load(file));
    const tab = (pane: Pane, name: string) => {
      const button = make("button", { type: "button", "aria-pressed": "false" }, name);
      button.addEventListener("click", () => this.show(pane));
      this.tabs.set(pane, button);
      return button;
    };
    const bar = make(
      "div",
      { class: "together tabs", role: "group", "aria-label": `How the hierarchy of ${entry.name} is edited` },
      tab("tree", "As a tree"),
      tab("text", "As text"),
      tab("rule", "By a rule"),
      make("label", { class: "choose small" }, file, make("span", {}, "From a file …")),
    );
    const note = noted(entry) ? [make("small", { class: "muted" }, ` · ${entry.note}`)] : [];
    const name = entry.name;
    this.element = make("details", { class: "tree", "data-part": "hierarchy" }, make("summary", {}, "Hierarchy ", this.size, ...note), bar, this.place, this.lack, this.note);
    this.element.open = unfolded.get(name) ?? (!entry.tree && !entry.builder);
    this.element.addEventListener("toggle", () => {
      unfolded.set(name, this.element.open);
      if (this.element.open) this.drawn();
    });
    this.sized();
    if (this.element.open) this.drawn();
  }

  private drawn(): void {
    if (!this.place.firstChild) this.show(panes.get(this.entry.name) ?? (this.entry.tree ? "tree" : "rule"));
    this.ask();
  }

  private sized(): void {
    const labels = this.entry.tree.split("\n").filter((line) => line.trim()).length;
    write(this.size, labels ? `${count(labels)} labels` : this.entry.builder || "none yet");
  }

  private show(pane: Pane): void {
    this.tree = undefined;
    write(this.note, "");
    const top = pane === "tree" ? parse(this.entry.tree) : undefined;
    if (pane === "tree" && !top && !this.entry.builder) return this.say("The text is no tree yet; correct it, or build one by a rule.", "text");
    panes.set(this.entry.name, pane);
    for (const [each, button] of this.tabs) button.setAttribute("aria-pressed", String(each === pane));
    if (top) {
      this.tree = new Tree(top, this.entry.name, (labels) => this.take(format(labels)));
      this.place.replaceChildren(this.tree.element);
    } else if (pane === "tree") this.place.replaceChildren(this.writeOut());
    else if (pane === "text") {
      this.area.value = this.entry.tree;
      this.place.replaceChildren(this.area, make("p", { class: "hint muted" }, "One label per line; indent what lies below it. Groups between root and leaves lose less than the root. A file has one line per leaf, from leaf to root, with semicolons."));
    } else this.place.replaceChildren(this.rule());
  }

  private say(said: string, pane?: Pane): void {
    if (pane) this.show(pane);
    write(this.note, said);
  }

  /** Another tree in place of this one. */
  private take(tree: string): void {
    this.entry.tree = tree;
    this.sized();
    this.ask();
    this.changed();
  }

  private text(): HTMLTextAreaElement {
    const area = make("textarea", { rows: "10", spellcheck: "false", "aria-label": `Hierarchy of ${this.entry.name}, a label a line, indented` });
    area.addEventListener("input", () => this.take(area.value));
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      const before = area.value.slice(0, area.selectionStart);
      const indent = /[ \t]*$/.exec(before.slice(before.lastIndexOf("\n") + 1).replace(/\S.*$/, ""))?.[0] ?? "";
      event.preventDefault();
      area.setRangeText(`\n${indent}`, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input"));
    });
    return area;
  }

  private async load(file: HTMLInputElement): Promise<void> {
    const chosen = file.files?.[0];
    if (!chosen) return;
    await this.trying(async () => {
      this.take(await hierarchy(chosen));
      this.say(`${chosen.name} is loaded.`, "tree");
    });
    file.value = "";
  }

  /** A rule is kept as it is; a copy of its tree can be edited. */
  private writeOut(): HTMLElement {
    const button = make("button", { type: "button" }, "Write the tree out, to edit it");
    button.addEventListener("click", () => void this.trying(async () => {
      this.take(await writtenOut(this.entry.builder));
      this.say("The policy now has the tree instead of the rule.", "tree");
    }));
    return make("div", { class: "together" }, make("code", {}, this.entry.builder), button);
  }

  private rule(): HTMLElement {
    const box = make("div", { class: "rule" });
    const draw = () => {
      const { key, levels, range, by } = this.kind;
      const named = choice(key, KINDS.map((kind): [string, string] => [kind.key, kind.says]), (picked) => {
        this.kind = KINDS.find((kind) => kind.key === picked) ?? this.kind;
        this.given = { levels: this.kind.levels ?? "", range: "", by: this.kind.by?.[0] ?? "" };
        draw();
        box.querySelector("select")?.focus();
      }, { "aria-label": `Rule for ${this.entry.name}` });
      const input = (part: "levels" | "range", label: string, example: string, hint: string) =>
        make("label", { title: hint }, label, text(this.given[part], (value) => (this.given[part] = value), { placeholder: example, "aria-label": `${label} of ${this.entry.name}`, class: "wide" }));
      const build = make("button", { type: "button", class: "main" }, "Build");
      build.addEventListener("click", () => void this.build());
      const now = this.entry.builder && !this.entry.tree ? [make("p", { class: "hint muted" }, "Now: ", make("code", {}, this.entry.builder))] : [];
      box.replaceChildren(
        make(
          "div",
          { class: "together" },
          named,
          ...(levels ? [input("levels", "levels", levels, "The levels above the leaves, the finest first")] : []),
          ...(range ? [input("range", "range", `values of the sample, or ${range}`, "Empty: the leaves are the values of the sample that several persons have")] : []),
          ...(by ? [choice(this.given.by || by[0]!, by.map((way): [string, string] => [way, way]), (way) => (this.given.by = way), { "aria-label": "How its leaves are written" })] : []),
          build,
        ),
        ...now,
      );
    };
    draw();
    return box;
  }

  private async build(): Promise<void> {
    await this.trying(async () => {
      const by = this.kind.by ? this.given.by || this.kind.by[0]! : "";
      const { tree, builder, lenient } = await built(this.entry.name, { name: this.kind.key, levels: this.given.levels, range: this.given.range, by });
      this.entry.builder = builder;
      this.entry.lenient ||= lenient;
      this.take(tree);
      this.say(tree ? `Built over the values of the sample: ${count(size(parse(tree) ?? []))} labels.` : "The policy holds the rule.", tree ? "tree" : "rule");
    });
  }

  /** Ask which values of the sample the tree lacks. */
  private ask(): void {
    clearTimeout(this.timer);
    if (!this.element.open) return;
    this.timer = window.setTimeout(() => void this.complete(), PAUSE);
  }

  private async complete(): Promise<void> {
    const { entry } = this;
    if (!entry.tree.trim() && !entry.builder) return this.lack.replaceChildren();
    const asked = JSON.stringify([entry.tree, entry.builder]);
    const found = await lacking(entry).catch(() => undefined);
    if (asked !== JSON.stringify([entry.tree, entry.builder])) return;
    const values = found?.values ?? [];
    if (!values.length) return this.lack.replaceChildren();
    const told = values.length === 1 ? "One value of the sample is" : `${count(values.length)} values of the sample are`;
    const few = values.slice(0, 5).join(", ");
    const add = make("button", { type: "button" }, values.length === 1 ? "Add it" : "Add them");
    add.addEventListener("click", () => void this.add(values));
    this.lack.replaceChildren(make("span", {}, `${told} no leaf: ${few}${values.length > 5 ? ", …" : ""}`), add);
  }

  private async add(values: string[]): Promise<void> {
    await this.trying(async () => {
      if (!this.entry.tree) this.take(await writtenOut(this.entry.builder));
      if (!this.tree) this.show("tree");
      this.tree?.append(values, MARK);
      write(this.note, "Drag them to where they belong; until then they lie below a label of their own.");
    });
  }

  private async trying(act: () => Promise<void>): Promise<void> {
    try {
      write(this.note, "");
      await act();
    } catch (error) {
      write(this.note, error instanceof Refused ? error.message : "That did not work.");
    }
  }
}
