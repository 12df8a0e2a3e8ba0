/** Rows before and after, cell above cell. */

import { make } from "../element";
import type { Pairs } from "./model";

export class Rows {
  private readonly head = make("tr");
  private readonly body = make("tbody");

  constructor(private readonly place: HTMLElement) {
    place.hidden = true;
    const title = make("h2", { id: "rows-title" }, "Before and after ", make("small", {}, "above as it came, below as it left"));
    const table = make("table", { class: "pairs" }, make("thead", {}, this.head), this.body);
    place.replaceChildren(title, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Some rows" }, table));
  }

  show({ columns, before, after, gone, bags }: Pairs): void {
    this.place.hidden = false;
    this.head.replaceChildren(...columns.map((name) => make("th", { scope: "col" }, name)));
    this.body.replaceChildren(
      ...before.map((row, n) => {
        const left = after[n] ?? [];
        const hidden = left.every((value) => !value); // the values of a suppressed tuple are in no bag
        const absent = (name: string) => (gone.includes(name) ? "gone" : bags.includes(name) && !hidden ? "in a bag" : "missing");
        return make("tr", {}, ...row.map((value, c) => cell(value, left[c] ?? "", absent(columns[c] ?? ""))));
      }),
    );
  }
}

function cell(before: string, after: string, absent: string): HTMLElement {
  const left = after ? document.createTextNode(after) : make("em", {}, absent);
  return make("td", {}, make("span", { class: "before" }, before || "·"), make("span", { class: "unseen" }, " became "), make("span", { class: "after" }, left));
}
