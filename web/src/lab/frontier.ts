/** Every trial as a dot: what the strongest attack gains against what is lost. A dot is a policy that a click brings back. */

import { make, write } from "../element";
import { count, percent } from "../format";
import { Outdated, point, Refused, variations } from "./api";
import { choice } from "./control";
import { help } from "./help";
import type { Change, Dot, Sheet, State } from "./model";
import { draw } from "./svg";

const WIDTH = 640;
const HEIGHT = 320;
const EDGE = { left: 56, right: 16, top: 14, bottom: 44 };
const MOST = 200; // dots
const AGAIN = 400; // milliseconds before a dot that gave way to a trial is tried again

interface Tried {
  sheet: Sheet;
  dot: Dot;
  pinned: boolean;
}

/** What is kept over a reload; sheets with the same fields share them. */
export interface KeptDots {
  fields: Sheet["fields"][];
  dots: { sheet: Omit<Sheet, "fields">; fields: number; dot: Dot; pinned: boolean }[];
}

type Axis = "loss" | "queries";

export class Frontier {
  private readonly found = new Map<string, Tried>();
  private readonly button = make("button", { type: "button", class: "main", id: "sweep" }, "Sweep");
  private readonly pin = make("button", { type: "button", id: "pin", disabled: "" }, "Pin this trial");
  private readonly note = make("p", { class: "muted", role: "status" });
  private readonly told = make("p", { class: "told", id: "dot" });
  private readonly plot = make("div", { class: "scatter" });
  private readonly pins = make("div");
  private axis: Axis = "loss";
  private attack = "";
  private readonly risks: HTMLSelectElement;
  private now = "";
  private sweeping = false;

  constructor(
    private readonly place: HTMLElement,
    private readonly state: State,
    private readonly sheet: () => Sheet,
    private readonly use: (sheet: Sheet) => void,
    private readonly keep: () => void,
  ) {
    const axis = choice(this.axis, [["loss", "against loss"], ["queries", "against the error of counting queries"]], (value) => {
      this.axis = value as Axis;
      this.draw();
    }, { "aria-label": "What risk is compared with" });
    this.risks = choice("", [["", "the strongest attack"]], (value) => {
      this.attack = value;
      this.draw();
    }, { "aria-label": "Which attack is shown", id: "attack" });
    place.classList.add("card");
    place.replaceChildren(
      make("div", { class: "heading" }, make("h2", { id: "frontier-title" }, "Risk ", make("small", {}, "what an attack gains, one dot per trial")), help("frontier")),
      make("div", { class: "together" }, this.button, this.pin, this.risks, axis, this.note),
      this.plot,
      this.told,
      this.pins,
    );
    this.button.addEventListener("click", () => (this.sweeping ? this.stop() : void this.sweep()));
    this.pin.addEventListener("click", () => {
      const tried = this.found.get(this.now);
      if (tried) this.turn(tried, true);
    });
    this.draw();
  }

  /** The sheet has changed. */
  changed(sheet: Sheet): void {
    this.place.hidden = sheet.algorithm === "zanon";
    this.now = key(sheet);
    this.draw();
  }

  /** A sheet was tried and audited. */
  add(sheet: Sheet, dot: Dot): void {
    const name = key(sheet);
    const before = this.found.get(name);
    const same = [...this.found.values()].find((each) => JSON.stringify(each.sheet.fields) === JSON.stringify(sheet.fields));
    this.found.set(name, { sheet: { ...structuredClone(sheet), fields: same?.sheet.fields ?? structuredClone(sheet.fields) }, dot: { ...before?.dot, ...dot }, pinned: before?.pinned ?? false });
    const oldest = [...this.found].find(([, each]) => !each.pinned);
    if (this.found.size > MOST && oldest) this.found.delete(oldest[0]);
    this.draw();
  }

  stop(): void {
    this.sweeping = false;
    write(this.button, "Sweep");
  }

  kept(): KeptDots {
    const fields = [...new Set([...this.found.values()].map((each) => each.sheet.fields))];
    const dots = [...this.found.values()].map(({ sheet: { fields: own, ...sheet }, dot, pinned }) => ({ sheet, fields: fields.indexOf(own), dot, pinned }));
    return { fields, dots };
  }

  restore({ fields, dots }: KeptDots): void {
    for (const { sheet, fields: place, dot, pinned } of dots) {
      const whole: Sheet = { ...sheet, fields: fields[place] ?? [] };
      this.found.set(key(whole), { sheet: whole, dot, pinned });
    }
    this.draw();
  }

  private async sweep(): Promise<void> {
    const base = structuredClone(this.sheet());
    this.sweeping = true;
    write(this.button, "Stop");
    try {
      const changes = await variations(base);
      for (const [n, change] of changes.entries()) {
        const sheet = changedBy(base, change);
        if (this.found.has(key(sheet))) continue;
        const slow = this.state.algorithms[sheet.algorithm] ? "" : "; it is compiled once, which takes up to a minute";
        write(this.note, `${n + 1} of ${changes.length}: ${words(change)} …${slow}`);
        const dot = await this.tried(sheet);
        if (!this.sweeping) break;
        if (dot) this.add(sheet, dot);
        this.state.algorithms[sheet.algorithm] = true;
        this.keep();
      }
      write(this.note, this.sweeping ? "Lower and further left is better. A click on a dot sets its policy." : "Stopped.");
    } catch (error) {
      write(this.note, error instanceof Refused ? error.message : "The sweep failed.");
    } finally {
      this.stop();
    }
  }

  /** A dot; trials of the sheet itself go first. */
  private async tried(sheet: Sheet): Promise<Dot | undefined> {
    while (this.sweeping) {
      try {
        return await point(sheet);
      } catch (error) {
        if (!(error instanceof Outdated)) throw error;
        await new Promise((done) => setTimeout(done, AGAIN));
      }
    }
    return undefined;
  }

  private turn(tried: Tried, pinned: boolean): void {
    tried.pinned = pinned;
    this.draw();
    this.keep();
  }

  /** The attack that is shown, or the strongest. */
  private worst({ dot }: Tried): Dot["attacks"][number] | undefined {
    const asked = this.attack ? dot.attacks.filter((each) => each.name === this.attack) : dot.attacks;
    return [...asked].sort((a, b) => b.gain - a.gain)[0];
  }

  private gain(tried: Tried): number {
    return this.worst(tried)?.gain ?? 0;
  }

  /** Every attack that some trial could try. */
  private offer(): void {
    const names = [...new Set([...this.found.values()].flatMap(({ dot }) => dot.attacks.map((each) => each.name)))].sort();
    if (this.risks.options.length === names.length + 1) return;
    this.risks.replaceChildren(make("option", { value: "" }, "the strongest attack"), ...names.map((name) => make("option", { value: name }, name)));
    this.risks.value = this.attack;
  }

  private value({ dot }: Tried): number | null {
    return this.axis === "loss" ? dot.loss : dot.queries;
  }

  private draw(): void {
    const all = [...this.found].filter(([, tried]) => this.value(tried) != null && this.worst(tried));
    this.offer();
    const own = quasi(this.sheet());
    const comparable = all.filter(([, tried]) => quasi(tried.sheet) === own);
    const best = pareto(comparable.map(([, tried]) => tried), (tried) => this.value(tried) ?? 0, (tried) => this.gain(tried));
    const right = Math.max(0.05, ...all.map(([, tried]) => this.value(tried) ?? 0)) * 1.08;
    const top = Math.max(0.05, ...all.map(([, tried]) => this.gain(tried))) * 1.08;
    const x = (value: number) => EDGE.left + (value / right) * (WIDTH - EDGE.left - EDGE.right);
    const y = (value: number) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
    const held = (document.activeElement as HTMLElement | SVGElement | null)?.dataset?.dot;
    const rank = ([name, tried]: [string, Tried]) => (name === this.now ? 2 : Number(best.includes(tried)));
    const dots = all.sort((a, b) => rank(a) - rank(b)).map(([name, tried]) => this.dot(name, tried, x(this.value(tried) ?? 0), y(this.gain(tried)), best.includes(tried), quasi(tried.sheet) === own));
    const line = best.map((tried, n) => `${n ? "L" : "M"}${x(this.value(tried) ?? 0).toFixed(1)} ${y(this.gain(tried)).toFixed(1)}`).join("");
    const svg = draw(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `${all.length} trials, risk against ${this.axis === "loss" ? "loss" : "the error of counting queries"}; ${best.length} on the frontier` },
      ...ticks(right).map((value) => grid(x(value), EDGE.top, x(value), HEIGHT - EDGE.bottom, this.axis === "loss" ? value.toFixed(2) : percent(value), "bottom")),
      ...ticks(top).map((value) => grid(EDGE.left, y(value), WIDTH - EDGE.right, y(value), `${Math.round(100 * value)} %`, "left")),
      draw("text", { class: "axis", x: (EDGE.left + WIDTH - EDGE.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, this.axis === "loss" ? "loss over the quasi-identifiers" : "error of counts with two conditions, median"),
      draw("path", { class: "line", d: line }),
      ...dots,
    );
    this.plot.replaceChildren(svg);
    if (held) this.plot.querySelector<SVGElement>(`[data-dot="${CSS.escape(held)}"]`)?.focus();
    const current = this.found.get(this.now);
    this.pin.disabled = !current || current.pinned;
    write(this.told, current ? this.say(current) : all.length ? "This policy was not tried yet." : "No trial was audited yet.");
    this.drawPins();
  }

  private dot(name: string, tried: Tried, x: number, y: number, best: boolean, same: boolean): SVGElement {
    const text = this.say(tried);
    const kind = ["dot", best ? "best" : "", name === this.now ? "now" : "", same ? "" : "other", tried.pinned ? "pinned" : ""].filter(Boolean).join(" ");
    const spot = draw("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: name === this.now ? 7 : 5 });
    const group = draw("g", { class: kind, role: "button", tabindex: 0, "aria-label": text, "data-dot": hash(name) }, draw("circle", { class: "reach", cx: x.toFixed(1), cy: y.toFixed(1), r: 12 }), spot);
    const use = () => this.use(structuredClone(tried.sheet));
    group.addEventListener("click", use);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      use();
    });
    const show = () => write(this.told, text);
    group.addEventListener("pointerenter", show);
    group.addEventListener("focus", show);
    return group;
  }

  private say(tried: Tried): string {
    const { sheet, dot } = tried;
    const worst = this.worst(tried);
    const strongest = worst ? `${worst.name} succeeds in ${percent(worst.success)}, by chance in ${percent(worst.chance)}` : "no attack could be tried";
    const error = dot.queries == null ? "" : `, counts off by ${percent(dot.queries)}`;
    return `${settings(sheet)}: loss ${dot.loss.toFixed(3)} over ${fields(dot.quasi)}${error}; ${strongest}.`;
  }

  /** The pinned ones side by side. */
  private drawPins(): void {
    const pinned = [...this.found.values()].filter((each) => each.pinned);
    this.pins.hidden = !pinned.length;
    if (!pinned.length) return;
    const row = (title: string, cell: (tried: Tried) => Node | string) => make("tr", {}, title ? make("th", { scope: "row" }, title) : make("td"), ...pinned.map((each) => make("td", {}, cell(each))));
    const act = (name: string, label: string, run: () => void) => {
      const button = make("button", { type: "button", "aria-label": label }, name);
      button.addEventListener("click", run);
      return button;
    };
    this.pins.replaceChildren(
      make("h3", {}, "Pinned, side by side"),
      make(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pinned trials" },
        make(
          "table",
          { class: "pins" },
          make("thead", {}, make("tr", {}, make("td"), ...pinned.map((each) => make("th", { scope: "col" }, settings(each.sheet))))),
          make(
            "tbody",
            {},
            row("loss", ({ dot }) => `${dot.loss.toFixed(3)} over ${fields(dot.quasi)}`),
            row("error of counts", ({ dot }) => (dot.queries == null ? "–" : percent(dot.queries))),
            row(this.attack || "strongest attack", (each) => told(this.worst(each), !this.attack)),
            row("suppressed", ({ dot }) => percent(dot.suppressed)),
            row("reading of nulls", ({ sheet }) => sheet.nulls_match || "blurred"),
            row("l", ({ sheet }) => sheet.l || "–"),
            row("", (each) => make("div", { class: "together" }, act("Use", `Use ${settings(each.sheet)}`, () => this.use(structuredClone(each.sheet))), act("Unpin", `Unpin ${settings(each.sheet)}`, () => this.turn(each, false)))),
          ),
        ),
      ),
    );
  }
}

/** Those that no other beats in both, from left to right. */
function pareto(tried: Tried[], value: (tried: Tried) => number, gain: (tried: Tried) => number): Tried[] {
  const sorted = [...tried].sort((a, b) => value(a) - value(b) || gain(a) - gain(b));
  let least = Infinity;
  return sorted.filter((each) => gain(each) < least && ((least = gain(each)), true));
}

function told(attack: Dot["attacks"][number] | undefined, named: boolean): string {
  return attack ? `${named ? `${attack.name} ` : ""}${percent(attack.success)}, by chance ${percent(attack.chance)}` : "–";
}

function changedBy(base: Sheet, { generalize, ...change }: Change): Sheet {
  const shown = generalize as Sheet["fields"][number]["generalize"] | undefined;
  const fields = base.fields.map((each) => (shown && each.role === "categorical" ? { ...each, generalize: shown } : each));
  return { ...base, ...(change as Partial<Sheet>), fields };
}

/** What makes a trial: notes and what is not used are no part of it. */
function key({ fields, ...rest }: Sheet): string {
  const used = fields.filter((each) => each.role !== "omit").map(({ note: _, noted: __, ...each }) => each);
  return JSON.stringify([rest, used]);
}

function hash(text: string): string {
  let found = 5381;
  for (let n = 0; n < text.length; n++) found = (found * 33 + text.charCodeAt(n)) | 0;
  return String(found >>> 0);
}

function quasi({ fields }: Sheet): string {
  return JSON.stringify(fields.filter((each) => each.role === "numeric" || each.role === "categorical").map((each) => each.name));
}

function settings(sheet: Sheet): string {
  const sets = sheet.fields.some((each) => each.role === "categorical" && each.generalize === "set");
  const parts = [`k ${sheet.k}`, `window ${sheet.window}`, sheet.algorithm, sheet.nulls_match && sheet.nulls_match !== "blurred" ? `nulls ${sheet.nulls_match}` : "", sets ? "sets" : "", sheet.l ? `l ${sheet.l}` : "", sheet.t ? `t ${sheet.t}` : "", sheet.across ? `across ${sheet.across}` : ""];
  return parts.filter(Boolean).join(" · ");
}

function words(change: Change): string {
  return Object.entries(change).map(([name, value]) => (name === "generalize" ? `${value}s` : `${name.replace("_", " ")} ${value || "none"}`)).join(", ");
}

function fields(number: number): string {
  return number === 1 ? "1 quasi-identifier" : `${count(number)} quasi-identifiers`;
}

function ticks(top: number): number[] {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].find((each) => top / each <= 6) ?? top;
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, n) => n * step);
}

function grid(x1: number, y1: number, x2: number, y2: number, text: string, side: "left" | "bottom"): SVGElement {
  const label = side === "left" ? draw("text", { class: "axis", x: x1 - 6, y: y1 + 4, "text-anchor": "end" }, text) : draw("text", { class: "axis", x: x1, y: y2 + 16, "text-anchor": "middle" }, text);
  return draw("g", {}, draw("line", { class: "grid", x1, y1, x2, y2 }), label);
}
