/** What a page shows of one kind of stream. */

import type { Past } from "./past";
import type { Snapshot } from "./snapshot";
import type { Tile } from "./tile";

export interface Claim {
  title: string;
  value: string;
  relation: string;
  bound: string;
  holds: "yes" | "no" | "unknown";
  verdict: string;
}

export interface Board {
  tiles: Tile[];
  cards: HTMLElement[];
  promise(told: Snapshot): Claim;
  /** Several times a second. */
  figures(told: Snapshot): void;
  /** Once a second, whatever time the charts show: distributions of the last minute. */
  live(told: Snapshot): void;
  /** Once a second, or when there are other rows. */
  charts(told: Snapshot, past: Past): void;
}
