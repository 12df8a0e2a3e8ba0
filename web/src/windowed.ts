/** The page of an algorithm that holds a window. */

import type { Board, Claim } from "./board";
import { Bars, Card, Lines, type Line } from "./chart";
import { count, loss, NONE, percent, seconds, short, wait } from "./format";
import { Log } from "./log";
import { Losses } from "./losses";
import { Machine } from "./machine";
import type { Past } from "./past";
import { Rejected } from "./rejected";
import { Safety } from "./safety";
import { type Snapshot, type Spread, stopped, type Wall } from "./snapshot";
import { Tile } from "./tile";

const QUIET = 10; // seconds without a record after which the rate is grey
const BINS = 20; // bars up to the deadline
const FLOW: Line[] = [
  { name: "in", label: "in", colour: "sand" },
  { name: "out", label: "out", colour: "sea" },
];
const LOSS: Line[] = [{ name: "loss", label: "loss", colour: "sea", filled: true }];
const HELD: Line[] = [{ name: "held", label: "tuples", colour: "sea", filled: true }];
const GROUPS: Line[] = [{ name: "groups", label: "groups", colour: "sea", filled: true }];

export class Windowed implements Board {
  private readonly received = new Tile("received", "In");
  private readonly released = new Tile("released", "Out");
  private readonly waited = new Tile("longest_wait", "Longest wait", "wait");
  private readonly lost = new Tile("loss", "Loss");
  private readonly suppressed = new Tile("suppressed", "Outside k");
  private readonly rejected = new Tile("rejected", "Rejected");
  readonly tiles = [this.received, this.released, this.waited, this.lost, this.suppressed, this.rejected];

  private readonly flow = new Card("Tuples", "a second", FLOW);
  private readonly waits: Card;
  private readonly loss = new Card("Loss", "mean of what left, 0 to 1");
  private readonly held = new Card("Window", "tuples that wait");
  private readonly groups = new Card("Groups formed", "a second");
  private readonly sizes = new Card("Sizes of groups", "tuples, last minute");
  private readonly losses: Losses;
  private readonly reasons = new Rejected("Suppressed and rejected", ["suppressed", "rejected"]);
  private readonly safety = new Safety();
  private readonly log = new Log();
  private readonly machine: Machine;
  readonly cards: HTMLElement[];

  private readonly flowLines = new Lines(this.flow, FLOW, short);
  private readonly lossLine = new Lines(this.loss, LOSS, (value) => value.toFixed(2), 1);
  private readonly heldLine = new Lines(this.held, HELD, short);
  private readonly groupLine = new Lines(this.groups, GROUPS, short);
  private readonly sizeBars = new Bars(this.sizes);
  private readonly waitBars: Bars;

  constructor(told: Snapshot) {
    const { deadline, unit } = told.policy;
    const isWall = told.wall?.deadline != null;
    this.waits = new Card("Waits", isWall ? "seconds by the wall clock, last minute" : `${unit === "s" ? "seconds" : "arrivals"}, last minute`);
    this.waitBars = new Bars(this.waits, deadline == null ? undefined : "deadline", BINS);
    this.machine = new Machine(told);
    this.losses = new Losses(told.attributes.map((attribute) => attribute.name));
    const charts = [this.flow, this.waits, this.loss, this.held, this.groups, this.sizes].map((card) => card.element);
    const below = [this.losses.element, this.reasons.element, this.safety.element];
    this.cards = [...charts, ...below, ...this.machine.cards, this.log.element];
  }

  promise(told: Snapshot): Claim {
    const { k } = told.policy;
    const smallest = told.smallest_group;
    const faults = stopped(told);
    const common = { title: "Smallest group so far", bound: `k ${count(k)}` };
    if (smallest == null) return { ...common, value: NONE, relation: "", holds: "unknown", verdict: "No group has left yet." };
    const holds = smallest >= k;
    const verdict = holds
      ? `Every tuple in a group could be about any of at least ${count(smallest)} persons. Promised: ${count(k)}.`
      : `A group of ${count(smallest)} persons left, and ${count(k)} are promised. Stop the pipeline and report it.`;
    const more = faults ? ` The door stopped ${count(faults)} releases: a fault of the algorithm; please report it.` : "";
    return { ...common, value: count(smallest), relation: holds ? "≥" : "<", holds: holds ? "yes" : "no", verdict: verdict + more };
  }

  figures(told: Snapshot): void {
    const { totals, rates, policy } = told;
    const of = (name: string) => totals[name] ?? 0;
    const quiet = told.quiet != null && told.quiet > QUIET ? `nothing came for ${seconds(Math.round(told.quiet))}` : "";
    this.received.show(`${short(rates.in)}/s`, quiet || `${count(of("received"))} in all`, of("received"), quiet ? "stale" : "");
    this.released.show(`${short(rates.out)}/s`, `${count(of("released"))} in all`, of("released"));
    this.sayWait(told);
    const mean = of("released") ? of("lost") / of("released") : null;
    this.lost.show(loss(rates.loss ?? mean), mean == null ? "" : `${loss(mean)} since the start`, mean);
    const part = of("released") ? of("suppressed") / of("released") : 0;
    this.suppressed.show(percent(part), `${count(of("suppressed"))} suppressed: no group in time`, of("suppressed"));
    const refused = of("received") ? of("rejected") / of("received") : 0;
    this.rejected.show(percent(refused), `${count(of("rejected"))} in all`, of("rejected"));
    this.safety.figures(told);
    this.machine.figures(told);
    this.log.draw(told);
    for (const tile of this.tiles) tile.judge(told);
    const { held, persons, partitions, reusable } = told.sizes;
    if (held != null) {
      const fill = policy.kind === "time" ? `${count(held)} tuples` : `${count(held)} of ${count(policy.window)} tuples`;
      const limit = policy.reuse_limit ? ` of ${count(policy.reuse_limit)}` : "";
      this.held.say(
        `${fill}, ${count(persons ?? 0)} persons, ${count(partitions ?? 0)} partitions; reuse set ${count(reusable ?? 0)}${limit}`,
      );
    }
  }

  charts(told: Snapshot, past: Past): void {
    const lines: [Card, Lines, string[]][] = [
      [this.flow, this.flowLines, ["in", "out"]],
      [this.loss, this.lossLine, ["loss"]],
      [this.held, this.heldLine, ["held"]],
      [this.groups, this.groupLine, ["groups"]],
    ];
    for (const [, chart, names] of lines) chart.draw(past, names);
    this.machine.charts(past);
    this.losses.draw(told, past);
    this.reasons.draw(told, past);
    this.live(told);
  }

  live(told: Snapshot): void {
    if (told.wall?.deadline != null) this.drawWall(told.wall, told);
    else if (told.waits) this.drawWaits(told.waits, told);
    if (told.groups) this.drawSizes(told.groups, told.policy.k);
    const { received, released } = told.totals;
    this.flow.say(`${count(received ?? 0)} came, ${count(released ?? 0)} left`);
    this.loss.say("0 is as it came, 1 is all hidden");
    this.groups.say(`${count(told.totals.groups ?? 0)} in all; ${count(told.totals.reused ?? 0)} tuples left as an earlier group had`);
  }

  /** By the wall clock where the deadline is one of time; else in arrivals, with what these took. */
  private sayWait({ wall, policy, longest_wait: longest, faults }: Snapshot): void {
    const late = faults.late ?? 0;
    const more = late ? `, ${count(late)} late` : "";
    if (wall?.deadline != null) {
      const bound = `wall clock, last minute; deadline ${seconds(wall.deadline)}, tolerance ${seconds(wall.tolerance)}${more}`;
      this.waited.show(wall.longest == null ? NONE : seconds(wall.longest), bound, longest, late ? "bad" : "");
      return;
    }
    const bound = policy.deadline == null ? "no deadline" : `deadline ${wait(policy.deadline, policy.unit)}${more}`;
    const took = wall?.longest == null ? "" : `; ${seconds(wall.longest)} by the wall clock`;
    this.waited.show(longest == null ? NONE : wait(longest, policy.unit), bound + took, longest, late ? "bad" : "");
  }

  private drawWall({ edges, recent, longest, tolerance }: Wall, { longest_wait: told, policy }: Snapshot): void {
    const most = edges.length - 1; // the last edge is the deadline with its tolerance
    const labels = edges.slice(0, most).map((edge, n) => ((n + 1) % 4 ? "" : String(Number(edge.toPrecision(3)))));
    const bars = edges.slice(0, most).map((edge, n) => `${figure(n ? (edges[n - 1] ?? 0) : 0)} – ${figure(edge)} s`);
    this.waitBars.draw([...labels, "", ""], recent, [...bars, "within the tolerance", "later"]);
    const sum = (values: number[]) => values.reduce((before, number) => before + number, 0);
    const [within = 0, later = 0] = recent.slice(most);
    const ends = `${count(sum(recent.slice(0, most)))} by the deadline, ${count(within)} within ${seconds(tolerance)} after it, ${count(later)} later`;
    const stream = told == null ? "" : `; by the stream's clock at most ${wait(told, policy.unit)}`;
    this.waits.say(ends + stream);
    const all = `Waits of the last minute in twentieths of the deadline: ${recent.slice(0, most).join(", ")}`;
    this.waits.describe(`${all}. ${ends}. The longest ${longest == null ? "is not known" : `was ${seconds(longest)}`}.`);
  }

  private drawWaits({ edges, recent }: Spread, { policy, faults }: Snapshot): void {
    const beyond = recent.at(-1) ?? 0;
    const labels = edges.map((edge, n) => ((n + 1) % 4 ? "" : policy.unit === "s" ? String(Number(edge.toPrecision(3))) : short(edge)));
    this.waitBars.draw([...labels, ""], recent);
    const all = recent.reduce((sum, number) => sum + number, 0);
    const text = policy.deadline == null ? `${count(all)} left` : `${count(all - beyond)} by the deadline; ${count(faults.late ?? 0)} late`;
    this.waits.say(text);
    this.waits.describe(`Waits of the last minute in twentieths of the deadline: ${recent.slice(0, -1).join(", ")}. ${text}.`);
  }

  private drawSizes({ edges, recent, sum, total }: Spread, k: number): void {
    const labels = edges.map((edge, n) => range(n ? (edges[n - 1] ?? 0) + 1 : k, edge));
    labels.push(`> ${short(edges.at(-1) ?? 0)}`);
    this.sizeBars.draw(labels, recent);
    const all = total.reduce((before, number) => before + number, 0);
    this.sizes.say(all ? `${(sum / all).toFixed(1)} tuples on average since the start` : "");
    this.sizes.describe(`Groups of the last minute by size: ${labels.map((label, n) => `${label}: ${recent[n]}`).join(", ")}`);
  }
}

function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function range(first: number, last: number): string {
  return first >= last ? short(last) : `${short(first)}–${short(last)}`;
}
