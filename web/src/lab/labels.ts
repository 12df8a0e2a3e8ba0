/** A hierarchy as labels below labels, and the text that holds it: one label per line, its children indented. */

export interface Label {
  name: string;
  below: Label[];
  above?: Label;
  open: boolean;
}

const SHOWN = 60; // labels that are shown unfolded from the start

/** The labels of a text; undefined if it holds no tree, or names a builder. */
export function parse(text: string): Label[] | undefined {
  const top: Label[] = [];
  const path: { indent: number; label: Label }[] = [];
  const indents = new Map<Label | undefined, number>();
  for (const line of text.replaceAll("\t", "    ").split("\n")) {
    const name = line.trim();
    if (!name) continue;
    const indent = line.length - line.trimStart().length;
    while (path.length && indent <= path[path.length - 1]!.indent) path.pop();
    const above = path[path.length - 1]?.label;
    if (indent !== (indents.get(above) ?? indent)) return undefined;
    indents.set(above, indent);
    const label: Label = { name, below: [], open: true, ...(above ? { above } : {}) };
    (above?.below ?? top).push(label);
    path.push({ indent, label });
  }
  if (top.length === 1 && !top[0]!.below.length && /^\w+:\s/.test(top[0]!.name)) return undefined;
  if (size(top) > SHOWN) for (const label of all(top)) label.open = !label.above;
  return top.length ? top : undefined;
}

export function format(labels: Label[], depth = 0): string {
  return labels.map((label) => `${"  ".repeat(depth)}${label.name}\n${format(label.below, depth + 1)}`).join("");
}

/** Every label, each before those below it. */
export function all(labels: Label[]): Label[] {
  return labels.flatMap((label) => [label, ...all(label.below)]);
}

export function size(labels: Label[]): number {
  return labels.reduce((sum, label) => sum + 1 + size(label.below), 0);
}

export function leaves(label: Label): number {
  return label.below.length ? label.below.reduce((sum, each) => sum + leaves(each), 0) : 1;
}

/** Whether a label is the other one, or lies below it. */
export function within(label: Label | undefined, other: Label): boolean {
  for (let each = label; each; each = each.above) if (each === other) return true;
  return false;
}

/** Those of some labels that do not lie below another of them. */
export function outermost(labels: Label[]): Label[] {
  return labels.filter((label) => !labels.some((other) => other !== label && within(label, other)));
}

export class Labels {
  constructor(public top: Label[]) {}

  siblings(label: Label): Label[] {
    return label.above?.below ?? this.top;
  }

  remove(label: Label): void {
    const around = this.siblings(label);
    around.splice(around.indexOf(label), 1);
  }

  insert(label: Label, above: Label | undefined, place: number): void {
    (above?.below ?? this.top).splice(place, 0, label);
    if (above) label.above = above;
    else delete label.above;
  }

  /** Move labels below another, or beside it; those that hold it stay where they are. */
  move(labels: Label[], target: Label, where: "before" | "into" | "after"): boolean {
    const moved = outermost(labels).filter((label) => !within(target, label));
    if (!moved.length || (where !== "into" && !target.above)) return false;
    for (const label of moved) this.remove(label);
    if (where === "into") target.open = true;
    const above = where === "into" ? target : target.above;
    const around = above?.below ?? this.top;
    const place = where === "into" ? around.length : around.indexOf(target) + Number(where === "after");
    moved.forEach((label, n) => this.insert(label, above, place + n));
    return true;
  }

  /** One step among its siblings, into the one before it, or out of the one above it. */
  step(label: Label, way: "up" | "down" | "in" | "out"): boolean {
    const around = this.siblings(label);
    const at = around.indexOf(label);
    const [before, after, above] = [around[at - 1], around[at + 1], label.above];
    if (way === "up") return before ? this.move([label], before, "before") : false;
    if (way === "down") return after ? this.move([label], after, "after") : false;
    if (way === "in") return before ? this.move([label], before, "into") : false;
    return above ? this.move([label], above, "after") : false;
  }

  /** Put a new label above some, where the first of them stands. */
  group(labels: Label[], name: string): Label | undefined {
    const [first, ...rest] = outermost(labels);
    if (!first?.above) return undefined;
    const made: Label = { name, below: [], open: true };
    this.insert(made, first.above, first.above.below.indexOf(first));
    this.move([first, ...rest], made, "into");
    return made;
  }

  /** Take a label out; what is below it takes its place. */
  drop(label: Label): void {
    const above = label.above;
    if (!above) return;
    const place = above.below.indexOf(label);
    this.remove(label);
    label.below.forEach((each, n) => this.insert(each, above, place + n));
  }
}
