/** What was not published as it should have been, and why. */

import { Card, Lines, type Line } from "./chart";
import { make } from "./element";
import { count, short } from "./format";
import type { Past } from "./past";
import type { Snapshot } from "./snapshot";

const COLOURS: Record<string, string> = { suppressed: "sand", rejected: "coral" };
const MOST = 5;

export class Rejected {
  private readonly card: Card;
  private readonly lines: Lines;
  private readonly list = make("ul", { class: "reasons" });
  private told = "";

  constructor(title: string, private readonly names: string[], shape?: string) {
    const lines: Line[] = names.map((name) => ({ name, label: name, colour: COLOURS[name] ?? "sea" }));
    this.card = new Card(title, "a second", lines);
    this.lines = new Lines(this.card, lines, short);
    this.card.note.replaceWith(this.list);
    if (shape) this.card.element.classList.add(shape);
  }

  get element(): HTMLElement {
    return this.card.element;
  }

  draw(told: Snapshot, past: Past): void {
    this.lines.draw(past, this.names);
    const reasons = Object.entries(told.reasons);
    const key = JSON.stringify(reasons);
    if (key === this.told) return;
    this.told = key;
    const items = reasons.slice(0, MOST).map(([reason, number]) => make("li", {}, make("b", {}, count(number)), ` ${reason}`));
    if (reasons.length > MOST) items.push(make("li", { class: "muted" }, `and ${reasons.length - MOST} more reasons; see the metrics`));
    this.list.replaceChildren(...items);
  }
}
