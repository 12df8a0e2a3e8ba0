/** The published tuples that scroll by; never more rows than fit. */

import { byId, make, write } from "./element";
import type { Snapshot } from "./snapshot";

const ROWS = 12;

export class Sample {
  private next = 0;
  private begun = 0;
  private columns = "";

  draw(told: Snapshot): void {
    const body = byId<HTMLTableSectionElement>("sample-body");
    if (told.begun !== this.begun) {
      this.begun = told.begun;
      this.next = 0;
      body.replaceChildren();
    }
    this.head(told);
    const { first, rows } = told.sample;
    for (let n = Math.max(0, this.next - first, rows.length - ROWS); n < rows.length; n++) {
      body.prepend(make("tr", {}, ...(rows[n] ?? []).map(cell)));
    }
    this.next = Math.max(this.next, first + rows.length);
    while (body.rows.length > ROWS) body.lastElementChild?.remove();
  }

  private head(told: Snapshot): void {
    const { columns, hidden } = told.policy;
    if (columns.join("\n") !== this.columns) {
      this.columns = columns.join("\n");
      byId("sample-head").replaceChildren(...columns.map((name) => make("th", { scope: "col" }, name)));
    }
    const also = hidden.length ? ` Also published, and not shown here: ${hidden.join(", ")}.` : "";
    const waits = told.sample.first + told.sample.rows.length === 0 ? " The first ones appear soon." : "";
    write(byId("sample-note"), `A few, some seconds late and in any order.${also}${waits}`);
  }
}

function cell(text: string): HTMLElement {
  if (text) return make("td", {}, text);
  return make("td", { class: "none" }, make("span", { "aria-hidden": "true" }, "·"), make("span", { class: "unseen" }, "missing"));
}
