/** A tree of labels that is edited by dragging, by buttons, or by keys. */

import { make, write } from "../element";
import { count } from "../format";
import { all, type Label, Labels, leaves } from "./labels";

type Where = "before" | "into" | "after";
type Way = "up" | "down" | "in" | "out";

const WAYS: [Way, string, string][] = [
  ["up", "↑", "Move up"],
  ["down", "↓", "Move down"],
  ["out", "←", "Move out of the label above"],
  ["in", "→", "Move into the label before"],
];
const KEYS: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "out", ArrowRight: "in" };
const HINT = "Drag labels onto others, or between them; or choose some, and group them. Keys: Space chooses, Alt and an arrow moves, F2 renames, Insert adds, Delete removes.";

export class Tree {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private readonly labels: Labels;
  private readonly rows = new Map<Label, HTMLElement>();
  private chosen = new Set<Label>();
  private at: Label;
  private dragged: Label[] = [];
  private readonly note = make("span", { class: "muted", role: "status" });

  /** `changed` is called after each edit. */
  constructor(top: Label[], name: string, private readonly changed: (top: Label[]) => void) {
    this.labels = new Labels(top);
    this.at = top[0]!;
    this.list = make("ul", { class: "labels", role: "tree", "aria-label": `Hierarchy of ${name}`, "aria-multiselectable": "true" });
    const button = (text: string, label: string, act: () => void) => {
      const made = make("button", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", act);
      return made;
    };
    const tools = make(
      "div",
      { class: "together", role: "toolbar", "aria-label": `Edit the hierarchy of ${name}` },
      button("Group", "Put a new label above those that are chosen", () => this.group()),
      button("Add", "Add a label below", () => this.add()),
      button("Rename", "Rename", () => this.rename(this.at)),
      button("Remove", "Remove; what is below it moves up", () => this.remove()),
      ...WAYS.map(([way, sign, label]) => button(sign, label, () => this.step(way))),
      this.note,
    );
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.element = make("div", { class: "tree-editor" }, tools, this.list, make("p", { class: "hint muted" }, HINT));
    this.draw();
  }

  /** Add labels below the chosen one, or below a new one at the root. */
  append(names: string[], mark: string): void {
    const root = this.labels.top[0]!;
    const inner = [...this.chosen].find((label) => label.below.length && label !== root);
    const above = inner ?? { name: mark, below: [], open: true };
    if (!inner) this.labels.insert(above, root, root.below.length);
    above.open = true;
    for (const name of names) this.labels.insert({ name, below: [], open: true }, above, above.below.length);
    this.edited(above);
  }

  private edited(at: Label, text = ""): void {
    this.at = at;
    this.draw(true);
    write(this.note, text);
    this.changed(this.labels.top);
  }

  private draw(focus = false): void {
    this.rows.clear();
    for (const label of this.chosen) if (!all(this.labels.top).includes(label)) this.chosen.delete(label);
    this.list.replaceChildren(...this.labels.top.map((label) => this.row(label, 1)));
    if (!this.rows.has(this.at)) this.at = this.labels.top[0]!;
    this.mark(focus);
  }

  /** Show where the keyboard is, and what is chosen. */
  private mark(focus: boolean): void {
    for (const [label, row] of this.rows) {
      row.tabIndex = label === this.at ? 0 : -1;
      row.setAttribute("aria-selected", String(this.chosen.has(label)));
    }
    if (focus) this.rows.get(this.at)?.focus();
  }

  private row(label: Label, level: number): HTMLElement {
    const inner = label.below.length > 0;
    const twist = make("span", { class: "twist", "aria-hidden": "true" }, inner ? (label.open ? "▾" : "▸") : "");
    const size = make("small", { class: "muted" }, inner ? count(leaves(label)) : "");
    const line = make("div", { class: "label", draggable: String(level > 1) }, twist, make("span", { class: "name" }, label.name), size);
    const item = make("li", { role: "treeitem", "aria-level": String(level), "aria-label": label.name, tabindex: "-1", ...(inner ? { "aria-expanded": String(label.open) } : {}) }, line);
    if (inner && label.open) item.append(make("ul", { role: "group" }, ...label.below.map((each) => this.row(each, level + 1))));
    twist.addEventListener("click", (event) => {
      event.stopPropagation();
      this.fold(label);
    });
    line.addEventListener("click", (event) => {
      event.stopPropagation();
      this.choose(label, event.ctrlKey || event.metaKey, event.shiftKey);
    });
    line.addEventListener("dblclick", () => this.rename(label));
    this.draggable(line, label);
    this.rows.set(label, item);
    return item;
  }

  private draggable(line: HTMLElement, label: Label): void {
    line.addEventListener("dragstart", (event) => {
      this.dragged = this.chosen.has(label) ? [...this.chosen] : [label];
      event.dataTransfer?.setData("text/plain", label.name);
      if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
    });
    line.addEventListener("dragover", (event) => {
      if (!this.dragged.length) return;
      event.preventDefault();
      line.dataset.drop = where(event, line, label);
    });
    line.addEventListener("dragleave", () => delete line.dataset.drop);
    line.addEventListener("dragend", () => (this.dragged = []));
    line.addEventListener("drop", (event) => {
      const place = where(event, line, label);
      delete line.dataset.drop;
      const [first] = this.dragged;
      if (!first) return;
      event.preventDefault();
      event.stopPropagation();
      if (this.labels.move(this.dragged, label, place)) this.edited(first, `${told(this.dragged)} moved.`);
      this.dragged = [];
    });
  }

  private choose(label: Label, more: boolean, range: boolean): void {
    const shown = [...this.rows.keys()];
    if (range) for (const each of shown.slice(...ends(shown.indexOf(this.at), shown.indexOf(label)))) this.chosen.add(each);
    else if (more && this.chosen.has(label)) this.chosen.delete(label);
    else this.chosen = new Set(more ? [...this.chosen, label] : [label]);
    this.at = label;
    this.mark(true);
  }

  private fold(label: Label, open = !label.open): void {
    label.open = open;
    this.draw(true);
  }

  private step(way: Way): void {
    if (this.labels.step(this.at, way)) this.edited(this.at, `${this.at.name} moved.`);
    else write(this.note, `${this.at.name} cannot move further that way.`);
  }

  private group(): void {
    const labels = this.chosen.size ? all(this.labels.top).filter((label) => this.chosen.has(label)) : [this.at];
    const made = this.labels.group(labels, "new group");
    if (!made) return write(this.note, "The root has no place above it.");
    this.edited(made);
    this.rename(made);
  }

  private add(): void {
    const made: Label = { name: "new label", below: [], open: true };
    this.at.open = true;
    this.labels.insert(made, this.at, this.at.below.length);
    this.edited(made);
    this.rename(made);
  }

  private remove(): void {
    const gone = this.at;
    if (!gone.above) return write(this.note, "The root stays.");
    const around = gone.above.below;
    const next = around[around.indexOf(gone) + 1] ?? around[around.indexOf(gone) - 1] ?? gone.above;
    this.labels.drop(gone);
    this.edited(next, `${gone.name} removed.`);
  }

  private rename(label: Label): void {
    const name = this.rows.get(label)?.querySelector<HTMLElement>(".name");
    if (!name) return;
    const input = make("input", { type: "text", class: "rename", "aria-label": `New name of ${label.name}` });
    input.value = label.name;
    name.replaceWith(input);
    input.select();
    input.focus();
    let done = false;
    const end = (keep: boolean) => {
      if (done) return;
      done = true;
      const given = input.value.trim();
      const taken = this.labels.siblings(label).some((each) => each !== label && each.name === given);
      const fits = keep && given && !taken && given !== label.name;
      if (fits) label.name = given;
      this.at = label;
      this.draw(keep);
      write(this.note, keep && taken ? "That name is there already, beside it." : "");
      if (fits) this.changed(this.labels.top);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") end(true);
      else if (event.key === "Escape") end(false);
    });
    input.addEventListener("blur", () => end(true));
    input.addEventListener("click", (event) => event.stopPropagation());
  }

  private key(event: KeyboardEvent): void {
    const shown = [...this.rows.keys()];
    const place = shown.indexOf(this.at);
    const way = KEYS[event.key];
    const go = (label: Label | undefined) => {
      if (label) this.at = label;
      this.mark(true);
    };
    if (event.ctrlKey || event.metaKey) return;
    if (event.altKey && way) this.step(way);
    else if (event.altKey) return;
    else if (event.key === "ArrowDown") go(shown[place + 1]);
    else if (event.key === "ArrowUp") go(shown[place - 1]);
    else if (event.key === "Home") go(shown[0]);
    else if (event.key === "End") go(shown[shown.length - 1]);
    else if (event.key === "ArrowRight" && this.at.below.length) this.at.open ? go(this.at.below[0]) : this.fold(this.at, true);
    else if (event.key === "ArrowLeft") this.at.open && this.at.below.length ? this.fold(this.at, false) : go(this.at.above);
    else if (event.key === " ") this.choose(this.at, true, false);
    else if (event.key === "F2" || event.key === "Enter") this.rename(this.at);
    else if (event.key === "Insert") this.add();
    else if (event.key === "Delete") this.remove();
    else return;
    event.preventDefault();
  }
}

/** Where a label would come to lie if it were let go here. */
function where(event: DragEvent, line: HTMLElement, label: Label): Where {
  if (!label.above) return "into";
  const { top, height } = line.getBoundingClientRect();
  const part = (event.clientY - top) / height;
  return part < 0.25 ? "before" : part > 0.75 ? "after" : "into";
}

function ends(one: number, other: number): [number, number] {
  return [Math.min(one, other), Math.max(one, other) + 1];
}

function told(labels: Label[]): string {
  return labels.length === 1 ? labels[0]!.name : `${count(labels.length)} labels`;
}
