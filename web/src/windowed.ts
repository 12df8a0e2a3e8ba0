/** The page of an algorithm that holds a window. */

import type { Board, Claim } from "./board";
import { Bars, Card, Lines, type Line } from "./chart";
import { count, loss, NONE, percent, seconds, short, wait } from "./format";
import { Losses } from "./losses";
import type { Past } from "./past";
import { Rejected } from "./rejected";
import { Safety } from "./safety";
import { type Snapshot, type Spread, stopped } from "./snapshot";
import { Tile } from "./tile";

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
  private readonly waited = new Tile("longest_wait", "Longest wait");
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
  readonly cards: HTMLElement[];

  private readonly flowLines = new Lines(this.flow, FLOW, short);
  private readonly lossLine = new Lines(this.loss, LOSS, (value) => value.toFixed(2), 1);
  private readonly heldLine = new Lines(this.held, HELD, short);
  private readonly groupLine = new Lines(this.groups, GROUPS, short);
  private readonly sizeBars = new Bars(this.sizes);
  private readonly waitBars: Bars;

  constructor(told: Snapshot) {
    const { deadline, unit } = told.policy;
    this.waits = new Card("Waiting", `${unit === "s" ? "seconds" : "arrivals"}, last minute`);
    this.waitBars = new Bars(this.waits, deadline == null ? undefined : "deadline");
    this.losses = new Losses(told.attributes.map((attribute) => attribute.name));
    const charts = [this.flow, this.waits, this.loss, this.held, this.groups, this.sizes].map((card) => card.element);
    this.cards = [...charts, this.losses.element, this.reasons.element, this.safety.element];
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
    this.received.show(`${short(rates.in)}/s`, `${count(of("received"))} in all`, of("received"));
    this.released.show(`${short(rates.out)}/s`, `${count(of("released"))} in all`, of("released"));
    const longest = told.longest_wait;
    const deadline = policy.deadline;
    const late = told.faults.late ?? 0;
    const bound = deadline == null ? "no deadline" : `deadline ${wait(deadline, policy.unit)}${late ? `, ${count(late)} late` : ""}`;
    this.waited.show(longest == null ? NONE : wait(longest, policy.unit), bound, longest, late ? "bad" : "");
    const mean = of("released") ? of("lost") / of("released") : null;
    this.lost.show(loss(rates.loss ?? mean), mean == null ? "" : `${loss(mean)} since the start`, mean);
    const part = of("released") ? of("suppressed") / of("released") : 0;
    this.suppressed.show(percent(part), `${count(of("suppressed"))} suppressed: no group in time`, of("suppressed"));
    const refused = of("received") ? of("rejected") / of("received") : 0;
    this.rejected.show(percent(refused), `${count(of("rejected"))} in all`, of("rejected"));
    this.safety.figures(told);
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
    for (const [card, chart, names] of lines) {
      const columns = names.map((name) => past.of(name));
      chart.draw(past.time, columns);
      card.describe(`The last minutes; now ${chart.summary(columns)}`);
    }
    if (told.waits) this.drawWaits(told.waits, told);
    if (told.groups) this.drawSizes(told.groups, told.policy.k);
    const { received, released } = told.totals;
    const quiet = told.quiet != null && told.quiet > 5 ? `; nothing came for ${seconds(Math.round(told.quiet))}` : "";
    this.flow.say(`${count(received ?? 0)} came, ${count(released ?? 0)} left${quiet}`);
    this.loss.say("0 is as it came, 1 is all hidden");
    this.groups.say(`${count(told.totals.groups ?? 0)} in all; ${count(told.totals.reused ?? 0)} tuples left as an earlier group had`);
    this.losses.draw(told, past);
    this.reasons.draw(told, past);
  }

  private drawWaits({ edges, recent }: Spread, { policy, faults }: Snapshot): void {
    const beyond = recent.at(-1) ?? 0;
    const labels = edges.map((edge, n) => ((n + 1) % 4 ? "" : policy.unit === "s" ? String(Number(edge.toPrecision(3))) : short(edge)));
    this.waitBars.draw([...labels, ""], recent);
    const all = recent.reduce((sum, number) => sum + number, 0);
    const next = policy.kind === "time" ? `, ${count(beyond)} at the first tick after it` : "";
    const text = policy.deadline == null ? `${count(all)} left` : `${count(all - beyond)} by the deadline${next}; ${count(faults.late ?? 0)} late`;
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

function range(first: number, last: number): string {
  return first >= last ? short(last) : `${short(first)}–${short(last)}`;
}
