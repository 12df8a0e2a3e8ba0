/** What the policy does to the sample: the promise, the costs, the attacks. */

import { Bars, Card } from "../chart";
import { byId, make, mark, write } from "../element";
import { count, loss, NONE, percent, short, wait } from "../format";
import { Tile } from "../tile";
import { help } from "./help";
import type { Across, Attack, FilterTrial, Returning, Risk, Trial, WindowTrial } from "./model";

const LOOKS = { green: "yes", amber: "open", red: "no" };
const SIGNS = { green: "✓", amber: "△", red: "✕" };
const SOON = 500; // milliseconds that an answer may take before what is shown looks old

export class Results {
  private timer = 0;
  private unsure = true; // whether there is no promise that could hold
  private claimed = "";
  private readonly title = make("h2", {}, "Smallest group");
  private readonly value = make("span", { id: "claim-value" }, NONE);
  private readonly relation = make("span", { class: "relation" });
  private readonly bound = make("span", { class: "bound" });
  private readonly headline = make("p", { class: "headline", id: "headline" });
  private readonly verdict = make("p", { class: "verdict", id: "verdict" });
  private readonly promise = make(
    "div",
    { class: "card promise", id: "promise", "data-holds": "unknown" },
    this.title,
    make("p", { class: "claim" }, this.value, " ", this.relation, " ", this.bound),
    this.headline,
    this.verdict,
  );
  private readonly loss = new Tile("loss", "Loss");
  private readonly suppressed = new Tile("suppressed", "Suppressed");
  private readonly wait = new Tile("wait", "Mean wait");
  private readonly released = new Tile("released", "Released");
  private readonly withheld = new Tile("withheld", "Withheld");
  private readonly generalized = new Tile("generalized", "Generalized");
  private readonly rejected = new Tile("rejected", "Rejected");
  private readonly tiles = make("dl", { class: "tiles" });
  private readonly waits = new Card("Waiting", "tuples, by how long");
  private readonly bars = new Bars(this.waits, "deadline");
  private readonly held = make("p", { class: "held", id: "held" });
  private readonly across = make("div", { class: "across", id: "across" });
  private readonly brief = byId("brief");
  private readonly attacks = make("tbody", { id: "attacks" });

  constructor(private readonly place: HTMLElement, private readonly judged: HTMLElement) {
    const head = ["attack", "knows", "success", "by chance", "bound", "in detail"].map((text) => make("th", { scope: "col" }, text));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), this.attacks);
    judged.replaceChildren(
      make("div", { class: "heading" }, make("h2", { id: "risk-title" }, "Attacks ", make("small", {}, "of the audit, tried on what left, the worst first")), help("attacks"), this.held),
      this.across,
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Attacks" }, table),
    );
    judged.hidden = this.waits.element.hidden = true;
    write(this.verdict, "Nothing was tried yet.");
    place.replaceChildren(this.promise, this.tiles, this.waits.element);
    this.lay(this.loss, this.suppressed, this.wait);
  }

  /** What is shown may not be of what is on the sheet. */
  stale(is: boolean): void {
    clearTimeout(this.timer);
    const set = () => [this.place, this.judged].forEach((place) => mark(place, "stale", String(is)));
    if (is) this.timer = window.setTimeout(set, SOON);
    else set();
  }

  show(trial: Trial): void {
    this.rejected.show(percent(part(trial.rejected, trial.received)), reason(trial), trial.rejected, trial.rejected ? "bad" : "");
    this.waits.element.hidden = trial.kind === "filter";
    if (trial.kind === "filter") this.filtered(trial);
    else this.windowed(trial);
  }

  risk(risk: Risk): void {
    const broken = risk.promises.filter((each) => each.verdict === "broken");
    const open = risk.promises.filter((each) => each.verdict === "not checkable").map((each) => each.name);
    const checked = risk.promises.filter((each) => each.verdict === "held").length;
    const rest = open.length ? ` Not checkable: ${open.join(", ")}.` : "";
    write(this.held, broken.length ? `Broken: ${broken.map((each) => each.name).join(", ")}.` : `The audit: ${checked} promises held.${rest}`);
    mark(this.held, "holds", broken.length ? "no" : "yes");
    this.attacks.replaceChildren(...risk.attacks.map(row));
    this.judge(risk);
  }

  /** The verdict of the audit: the promise is never greener than that, and k 1 is never green. */
  private judge({ verdict, attacks }: Risk): void {
    const { colour } = verdict;
    const nothing = this.unsure && colour === "green"; // no promise was broken, and none protects
    const holds = nothing ? "unknown" : LOOKS[colour];
    const sign = nothing ? "" : `${SIGNS[colour]} `;
    mark(this.promise, "holds", holds);
    write(this.headline, `${nothing ? "" : `${sign}${capital(colour)}: `}${nothing ? capital(verdict.text) : verdict.text}.`);
    const worst = attacks.find((attack) => attack.alert);
    if (worst?.success != null) write(this.brief, `${sign}${this.claimed} · ${worst.name} ${percent(worst.success)}`);
    else write(this.brief, `${sign}${this.claimed}`);
    mark(this.brief, "holds", holds);
  }

  /** Persons who come back: the attack on exact values, and on what is published. */
  returning(found: Across[]): void {
    const told = (each: Returning | null) => (each?.success == null ? (each?.obstacle ?? NONE) : `${percent(each.success)} (by chance ${percent(each.chance ?? 0)})`);
    this.across.hidden = !found.length;
    this.across.replaceChildren(
      ...found.map(({ field, before, after }) =>
        make("p", {}, make("b", {}, field), " across releases: an attacker who links a person's rows is right in ", make("b", {}, told(before)), " with exact values, in ", make("b", {}, told(after)), " as this policy publishes it."),
      ),
    );
  }

  /** Before the audit has answered. */
  judging(): void {
    this.judged.hidden = false;
    write(this.held, "The audit is at work …");
    write(this.headline, "The audit is at work …");
    this.across.hidden = true;
    mark(this.held, "holds", "unknown");
  }

  private windowed(trial: WindowTrial): void {
    const { smallest, k } = trial;
    this.lay(this.loss, this.suppressed, this.wait);
    write(this.title, "Smallest group");
    write(this.value, smallest == null ? NONE : count(smallest));
    write(this.relation, smallest == null ? "" : smallest >= k ? "≥" : "<");
    write(this.bound, `k ${count(k)}`);
    this.unsure = smallest == null || k < 2;
    mark(this.promise, "holds", this.unsure || (smallest ?? 0) >= k ? "unknown" : "no");
    write(
      this.verdict,
      smallest == null
        ? "No group could form: everything was suppressed. Lower k, or lengthen the window."
        : k < 2
          ? "k 1 hides nobody: a record may leave as its own group. Use 2 at least."
          : `Each of ${count(trial.released)} records left as one of at least ${count(smallest)} persons, in ${count(trial.groups)} groups.`,
    );
    this.loss.show(loss(trial.loss), `over ${trial.attributes.length} quasi-identifiers; ${trial.published} of ${trial.fields} fields published`, trial.loss);
    this.claimed = smallest == null ? "No group could form" : `${count(smallest)} ${smallest >= k ? "≥" : "<"} k ${count(k)} · loss ${loss(trial.loss)} over ${trial.attributes.length} of ${trial.fields} fields`;
    write(this.brief, this.claimed);
    mark(this.brief, "holds", this.promise.dataset.holds ?? "unknown");
    const hidden = part(trial.suppressed, trial.released);
    this.suppressed.show(percent(hidden), `${count(trial.suppressed)} records`, trial.suppressed, hidden > 0.05 ? "bad" : "");
    const bound = trial.deadline == null ? "no deadline" : `at most ${wait(trial.longest ?? 0, trial.unit)}`;
    this.wait.show(trial.wait == null ? NONE : wait(Math.round(10 * trial.wait) / 10, trial.unit), bound, trial.wait);
    const { edges, counts } = trial.waits;
    this.bars.draw(edges.map((edge, n) => ((n + 1) % 5 ? "" : short(edge))), counts);
    this.waits.say(`${count(trial.reused)} left as an earlier group had`);
    this.waits.describe(`Waits in twentieths of the longest: ${counts.join(", ")}`);
  }

  private filtered(trial: FilterTrial): void {
    const all = trial.released + trial.withheld;
    write(this.title, "Released at once");
    this.unsure = trial.z == null;
    this.claimed = `${percent(part(trial.released, all))} released at once`;
    write(this.brief, this.claimed);
    mark(this.brief, "holds", "unknown");
    write(this.value, percent(part(trial.released, all)));
    write(this.relation, "");
    write(this.bound, trial.z == null ? "no z yet" : `z ${count(trial.z)}`);
    mark(this.promise, "holds", "unknown");
    write(this.verdict, `Of ${count(all)} observations, those whose item at least z users had exposed by then.`);
    this.lay(this.released, this.withheld, this.generalized);
    this.released.show(count(trial.released), "observations", trial.released);
    this.withheld.show(count(trial.withheld), "fewer than z users", trial.withheld);
    this.generalized.show(count(trial.generalized), "of those released", trial.generalized);
  }

  private lay(...tiles: Tile[]): void {
    this.tiles.replaceChildren(...[...tiles, this.rejected].map((tile) => tile.element));
  }
}

function row(attack: Attack): HTMLElement {
  const name = make("th", { scope: "row" }, attack.name, ...(attack.kind ? [make("small", { class: "muted" }, attack.kind)] : []));
  const knows = make("td", { class: "wrap muted" }, attack.knows);
  if (attack.success == null || attack.baseline == null) {
    return make("tr", {}, name, knows, make("td", { class: "number" }, NONE), make("td", { class: "number" }, NONE), make("td", { class: "number" }, NONE), make("td", { class: "wrap muted" }, attack.obstacle));
  }
  const success = make("td", { class: "number success" }, percent(attack.success));
  const detail = `${count(attack.tried)} tried${attack.detail ? `; ${attack.detail}` : ""}`;
  return make("tr", { "data-alert": String(attack.alert) }, name, knows, success, make("td", { class: "number" }, percent(attack.baseline)), make("td", { class: "number" }, attack.bound == null ? NONE : percent(attack.bound)), make("td", { class: "wrap muted" }, detail));
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function part(some: number, all: number): number {
  return all ? some / all : 0;
}

function reason({ reasons, rejected }: Trial): string {
  const most = Object.entries(reasons).sort(([, a], [, b]) => b - a)[0];
  return most ? `${count(rejected)}: ${most[0]}` : "no record";
}
