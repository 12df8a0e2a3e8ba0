/** The page of z-anonymity, which holds no tuple. */

import type { Board, Claim } from "./board";
import { Card, Lines, type Line } from "./chart";
import { count, NONE, percent, seconds, short } from "./format";
import { Log } from "./log";
import { Machine } from "./machine";
import type { Past } from "./past";
import { Rejected } from "./rejected";
import { Safety } from "./safety";
import type { Snapshot } from "./snapshot";
import { Tile } from "./tile";

const FLOW: Line[] = [
  { name: "in", label: "in", colour: "sand" },
  { name: "out", label: "released", colour: "sea" },
];
const SHARE: Line[] = [{ name: "released_share", label: "released", colour: "sea", filled: true }];
const Z: Line[] = [{ name: "z", label: "z", colour: "sea", filled: true }];
const HELD: Line[] = [{ name: "held", label: "pairs", colour: "sea", filled: true }];

export class Filter implements Board {
  private readonly received = new Tile("received", "In");
  private readonly released = new Tile("released", "Released");
  private readonly generalized = new Tile("generalized", "Generalized");
  private readonly withheld = new Tile("withheld", "Withheld");
  private readonly alike = new Tile("p_kanon", "k-anonymous users");
  private readonly rejected = new Tile("rejected", "Rejected");
  readonly tiles = [this.received, this.released, this.generalized, this.withheld, this.alike, this.rejected];

  private readonly flow = new Card("Observations", "a second", FLOW);
  private readonly share = new Card("Released", "part of what came");
  private readonly z = new Card("z", "users");
  private readonly held = new Card("Counted", "pairs of user and item");
  private readonly reasons = new Rejected("Rejected", ["rejected"], "wide");
  private readonly safety = new Safety();
  readonly cards = [
    ...[this.flow, this.share, this.z, this.held].map((card) => card.element),
    this.reasons.element,
    this.safety.element,
  ];
  private readonly log = new Log();
  private readonly machine: Machine;

  constructor(told: Snapshot) {
    this.machine = new Machine(told);
    this.cards.push(...this.machine.cards, this.log.element);
  }

  private readonly lines: [Card, Lines, string[]][] = [
    [this.flow, new Lines(this.flow, FLOW, short), ["in", "out"]],
    [this.share, new Lines(this.share, SHARE, (value) => `${Math.round(100 * value)} %`, 1), ["released_share"]],
    [this.z, new Lines(this.z, Z, short), ["z"]],
    [this.held, new Lines(this.held, HELD, short), ["held"]],
  ];

  promise(told: Snapshot): Claim {
    const common = { title: "Behind every released item", relation: "" };
    if (told.z == null) {
      const verdict = "z follows the stream, and is not known yet: nothing is released.";
      return { ...common, value: NONE, bound: "", holds: "unknown", verdict };
    }
    const verdict = `z is ${count(told.z)}: an item is released when so many users exposed it within ${seconds(told.policy.window)}.`;
    return { ...common, value: `≥ ${count(told.z)}`, bound: "users", holds: "yes", verdict };
  }

  figures(told: Snapshot): void {
    const of = (name: string) => told.totals[name] ?? 0;
    const decided = of("released") + of("withheld");
    const part = (name: string) => (decided ? of(name) / decided : 0);
    this.received.show(`${short(told.rates.in)}/s`, `${count(of("received"))} in all`, of("received"));
    this.released.show(percent(part("released")), `${count(of("released"))} in all`, of("released"));
    this.generalized.show(percent(part("generalized")), `${count(of("generalized"))} of these`, of("generalized"));
    this.withheld.show(percent(part("withheld")), `${count(of("withheld"))} in all`, of("withheld"));
    const p = told.p_kanon;
    this.alike.show(p == null ? NONE : percent(p), `k ${told.policy.k}, by the model`, p);
    const refused = of("received") ? of("rejected") / of("received") : 0;
    this.rejected.show(percent(refused), `${count(of("rejected"))} in all`, of("rejected"));
    this.held.say(`${count(told.sizes.exposures ?? 0)} entries, ${count(told.sizes.items ?? 0)} items`);
    this.safety.figures(told);
    this.machine.figures(told);
    this.log.draw(told);
    for (const tile of this.tiles) tile.judge(told);
  }

  charts(told: Snapshot, past: Past): void {
    for (const [, chart, names] of this.lines) chart.draw(past, names);
    this.machine.charts(past);
    this.reasons.draw(told, past);
  }

  live(): void {}
}
