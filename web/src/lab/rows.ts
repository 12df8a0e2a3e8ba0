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

  show({ columns, before, after, gone }: Pairs): void {
    this.place.hidden = false;
    this.head.replaceChildren(...columns.map((name) => make("th", { scope: "col" }, name)));
    this.body.replaceChildren(
      ...before.map((row, n) =>
        make("tr", {}, ...row.map((value, c) => cell(value, after[n]?.[c] ?? "", gone.includes(columns[c] ?? "")))),
      ),
    );
  }
}

function cell(before: string, after: string, gone: boolean): HTMLElement {
  const left = gone ? make("em", {}, "gone") : after ? document.createTextNode(after) : make("em", {}, "missing");
  return make("td", {}, make("span", { class: "before" }, before || "·"), make("span", { class: "unseen" }, " became "), make("span", { class: "after" }, left));
}
