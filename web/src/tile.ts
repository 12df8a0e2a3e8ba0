/** Small figures with a name and a word of explanation. */

import { make, mark, write } from "./element";

export class Tile {
  readonly element: HTMLElement;
  private readonly value = make("span", { class: "value" });
  private readonly more = make("span", { class: "more muted" });

  constructor(readonly name: string, title: string) {
    this.element = make("div", { class: "card tile", "data-figure": name }, make("dt", {}, title), make("dd", {}, this.value, this.more));
  }

  /** `exact` is the number itself, for those who compare. */
  show(text: string, more: string, exact?: number | null, mood: "" | "bad" = ""): void {
    write(this.value, text);
    write(this.more, more);
    mark(this.element, "mood", mood);
    if (exact != null) mark(this.element, "value", String(exact));
  }
}
