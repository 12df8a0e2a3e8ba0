/** What happened, the newest first; and what stands now. */

import { happened } from "./chart";
import { byId, make } from "./element";
import { count, moment } from "./format";
import type { Entry, Level, Snapshot } from "./snapshot";

const WORDS: Record<Level, string> = { info: "", amber: "amber", red: "red" };

/** The colour of a check, and its name for those who do not see it. */
export function flag(level: Level): HTMLElement {
  const signs: Record<Level, string> = { info: "·", amber: "▲", red: "■" };
  const sign = make("span", { class: `flag ${level}`, "aria-hidden": "true" }, signs[level]);
  return make("span", {}, sign, make("span", { class: "unseen" }, WORDS[level] ? `${WORDS[level]}: ` : ""));
}

export class Log {
  readonly element: HTMLElement;
  private readonly list = make("ol", { class: "log" });
  private version = -1;
  private standing = "";

  constructor() {
    const region = make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "What happened" }, this.list);
    this.element = make("section", { class: "card happened" }, make("h2", {}, "What happened"), region);
  }

  draw(told: Snapshot): void {
    this.stand(told);
    const { version, entries } = told.log;
    if (!entries || version === this.version) return;
    this.version = version;
    happened.entries = entries;
    this.list.replaceChildren(...[...entries].reverse().map((entry) => line(entry, told.now)));
  }

  /** What is amber or red now, above everything else. */
  private stand(told: Snapshot): void {
    const found = Object.values(told.checks).filter((check) => check && check.level !== "info") as { level: Level; text: string }[];
    found.sort((one, other) => Number(other.level === "red") - Number(one.level === "red"));
    const key = JSON.stringify(found);
    if (key === this.standing) return;
    this.standing = key;
    byId("standing").replaceChildren(...found.map(({ level, text }) => make("li", { class: level }, flag(level), text)));
  }
}

function line(entry: Entry, now: number): HTMLElement {
  const again = entry.times > 1 ? ` (${count(entry.times)} times, until ${moment(entry.until, now)})` : "";
  return make("li", { class: entry.level }, make("time", {}, moment(entry.at, now)), flag(entry.level), make("span", {}, entry.text + again));
}
