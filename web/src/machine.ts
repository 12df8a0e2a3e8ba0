/** What the pipeline takes of its machine, and what it waits for. */

import { Card, Lines, type Line } from "./chart";
import { bytes, count, percent } from "./format";
import type { Past } from "./past";
import type { Snapshot } from "./snapshot";

const WAITING: Line[] = [
  { name: "source", label: "for the source", colour: "sea" },
  { name: "sink", label: "for the sink", colour: "coral" },
];
const ONE = (name: string): Line[] => [{ name, label: name, colour: "sea", filled: true }];

export class Machine {
  readonly cards: HTMLElement[];
  private readonly cores = new Card("Processor", "cores that are busy");
  private readonly memory = new Card("Memory", "of the process");
  private readonly waiting = new Card("Waiting", "part of the time", WAITING);
  private readonly lag = new Card("Behind", "what waits in the source");
  private readonly lines: [Card, Lines, string[]][];

  constructor(told: Snapshot) {
    this.lines = [
      [this.cores, new Lines(this.cores, ONE("cores"), (value) => value.toFixed(2)), ["cores"]],
      [this.memory, new Lines(this.memory, ONE("memory"), bytes), ["memory"]],
    ];
    if (told.about.source && told.about.pipeline !== "shoal demo") {
      const whole = (value: number) => `${Math.round(100 * value)} %`;
      this.lines.push([this.waiting, new Lines(this.waiting, WAITING, whole, 1), ["source", "sink"]]);
      this.lines.push([this.lag, new Lines(this.lag, ONE("lag"), count), ["lag"]]);
    }
    this.cards = this.lines.map(([card]) => card.element);
  }

  figures({ shares, lag, memory, cores }: Snapshot): void {
    this.cores.say(cores == null ? "" : `${cores.toFixed(2)} cores now`);
    this.memory.say(`${bytes(memory)} now`);
    const { source, sink } = shares;
    const work = source == null || sink == null ? null : Math.max(0, 1 - source - sink);
    if (work != null && sink != null) {
      this.waiting.say(sink > 0.5 ? `the sink is the bottleneck: ${percent(sink)} of the time` : `${percent(work)} of the time it works`);
    }
    this.lag.say(lag == null ? "not known for this source" : `${count(lag)} messages, or bytes of a file`);
  }

  charts(past: Past): void {
    for (const [, lines, names] of this.lines) lines.draw(past, names);
  }
}
