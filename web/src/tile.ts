/** Small figures with a name and a word of explanation. */

import { make, mark, write } from "./element";
import { flag } from "./log";
import type { Level, Snapshot } from "./snapshot";

export class Tile {
  readonly element: HTMLElement;
  private readonly value = make("span", { class: "value" });
  private readonly more = make("span", { class: "more muted" });
  private readonly title: HTMLElement;

  /** `check` names the check that colours it. */
  constructor(readonly name: string, title: string, private readonly check = name) {
    this.title = make("dt", {}, title);
    this.element = make("div", { class: "card tile", "data-figure": name }, this.title, make("dd", {}, this.value, this.more));
  }

  /** `exact` is the number itself, for those who compare. */
  show(text: string, more: string, exact?: number | null, mood: "" | "bad" | "stale" = ""): void {
    write(this.value, text);
    write(this.more, more);
    this.mood = mood;
    if (!this.isJudged) this.paint(mood);
    if (exact != null) mark(this.element, "value", String(exact));
  }

  private mood = "";
  private isJudged = false;

  /** Amber or red, as its check stands. */
  judge(told: Snapshot): void {
    this.isJudged = true;
    const level: Level = told.checks[this.check]?.level ?? "info";
    this.paint(level === "red" ? "bad" : this.mood || (level === "amber" ? level : ""));
  }

  private paint(mood: string): void {
    if (this.element.dataset.mood === mood) return;
    mark(this.element, "mood", mood);
    this.title.querySelector("span")?.remove();
    if (mood === "bad" || mood === "amber") this.title.prepend(flag(mood === "bad" ? "red" : mood));
  }
}
