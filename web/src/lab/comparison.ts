/** All algorithms in one chart: loss against waiting, and against k. */

import uPlot from "uplot";

import { axis, Card, drawn } from "../chart";
import { make, write } from "../element";
import { percent, short } from "../format";
import { colour } from "../theme";
import { compare, Outdated, Refused } from "./api";
import type { Compared, Point, Sheet, State } from "./model";

const HEIGHT = 280;

export class Comparison {
  private readonly waits = new Card("Loss against waiting", "mean wait, from a quarter to four times the window");
  private readonly ks = new Card("Loss against k", "from a quarter to four times k");
  private readonly button = make("button", { type: "button", class: "main" }, "Compare all algorithms");
  private readonly note = make("p", { class: "muted", role: "status" });
  private readonly legend = make("ul", { class: "algorithms" });
  private readonly charts: HTMLElement;
  private readonly byWait: uPlot;
  private readonly byK: uPlot;
  private readonly found = new Map<string, Compared>();
  private readonly names: string[];
  private splits: number[] = [];
  private chosen = "";
  private asked = "";
  private running = false;

  constructor(private readonly place: HTMLElement, private readonly state: State, private readonly sheet: () => Sheet, private readonly pick: (name: string) => void) {
    this.names = Object.keys(state.algorithms).filter((name) => name !== "zanon").sort((a, b) => Number(b === "tide") - Number(a === "tide"));
    for (const card of [this.waits, this.ks]) card.plot.classList.add("tall");
    const charts = (this.charts = make("div", { class: "charts two" }, this.waits.element, this.ks.element));
    place.replaceChildren(
      make("div", { class: "heading" }, make("h2", {}, "Algorithms compared"), this.button, this.note),
      this.legend,
      charts,
    );
    this.byWait = this.chart(this.waits.plot, "x");
    this.byK = this.chart(this.ks.plot, "k");
    this.button.addEventListener("click", () => void this.run());
  }

  /** The sheet has changed. */
  changed(sheet: Sheet): void {
    this.place.hidden = sheet.algorithm === "zanon";
    if (this.chosen !== sheet.algorithm) {
      this.chosen = sheet.algorithm;
      this.draw();
    }
    if (this.asked && key(sheet) !== this.asked && !this.running) write(this.note, "The policy has changed since; compare again to see it.");
  }

  forget(): void {
    this.found.clear();
    this.asked = "";
    write(this.note, "");
    this.draw();
  }

  private async run(): Promise<void> {
    if (this.running) return;
    const sheet = structuredClone(this.sheet());
    this.asked = key(sheet);
    this.found.clear();
    this.running = true;
    this.button.disabled = true;
    try {
      for (const [n, name] of this.names.entries()) {
        const slow = this.state.algorithms[name] ? "" : "; it is compiled once, which takes up to a minute";
        write(this.note, `${n + 1} of ${this.names.length}: ${name} …${slow}`);
        this.found.set(name, await compare(sheet, name));
        this.state.algorithms[name] = true;
        this.draw();
      }
      write(this.note, "Choose one by its name. All keep the same promise on the same sample.");
    } catch (error) {
      this.asked = "";
      write(this.note, error instanceof Refused ? error.message : error instanceof Outdated ? "" : "The comparison failed.");
    } finally {
      this.running = false;
      this.button.disabled = false;
      this.changed(this.sheet());
    }
  }

  private draw(): void {
    const shown = this.names.map((name) => this.found.get(name));
    for (const chart of [this.byWait, this.byK]) {
      this.names.forEach((name, n) => (chart.series[n + 1]!.width = name === this.chosen ? 4 : 1.5));
    }
    this.charts.hidden = !this.found.size;
    this.splits = [...new Set(shown.flatMap((each) => each?.ks.map((point) => point.k) ?? []))].sort((a, b) => a - b);
    this.byWait.setData(joined(shown.map((each) => each?.windows ?? []), "wait"));
    this.byK.setData(joined(shown.map((each) => each?.ks ?? []), "k"));
    const unit = [...this.found.values()][0]?.unit === "s" ? "seconds" : "arrivals";
    this.waits.say(this.found.size ? `${unit}; lower and further left is better` : "Not compared yet.");
    this.ks.say(this.found.size ? "persons; lower is better" : "");
    this.legend.replaceChildren(...this.names.filter((name) => this.found.has(name)).map((name) => this.entry(name)));
    this.waits.describe(`Loss against mean wait. ${this.told()}`);
    this.ks.describe(`Loss against k. ${this.told()}`);
  }

  private told(): string {
    return [...this.found.values()].map((each) => `${each.algorithm} ${middle(each)?.loss.toFixed(2) ?? "not possible"}`).join(", ");
  }

  private entry(name: string): HTMLElement {
    const found = this.found.get(name);
    const point = found && middle(found);
    const figures = point ? `${point.loss.toFixed(3)}${point.suppressed > 0.0005 ? `, ${percent(point.suppressed)} suppressed` : ""}` : (found?.obstacle ?? "");
    const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = colour(`c${this.names.indexOf(name) + 1}`);
    const button = make("button", { type: "button", "aria-pressed": String(name === this.chosen) }, swatch, make("b", {}, name), " ", make("span", { class: "muted" }, figures));
    button.addEventListener("click", () => this.pick(name));
    return make("li", {}, button);
  }

  private chart(place: HTMLElement, scale: string): uPlot {
    return drawn(
      place,
      {
        scales: {
          x: { time: false, distr: scale === "k" ? 3 : 1, ...(scale === "k" ? {} : { range: (_, __, high) => [0, (high ?? 1) * 1.04] }) },
          y: { range: (_, __, high) => [0, Math.min(1, Math.max(high || 0, 0.1) * 1.1)] },
        },
        axes: [
          axis({
            size: 26,
            space: 40,
            ...(scale === "k" ? { splits: () => this.splits, filter: (_: uPlot, splits: number[]) => splits } : {}),
            values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : short(tick).replace(".00", ""))),
          }),
          axis({ size: 44, values: (_, ticks) => ticks.map((tick) => tick.toFixed(1)) }),
        ],
        series: [{}, ...this.names.map((name, n) => this.series(name, n + 1))],
      },
      HEIGHT,
    );
  }

  private series(name: string, n: number): uPlot.Series {
    return {
      label: name,
      stroke: () => colour(`c${n}`),
      width: 1.5,
      points: { show: true, size: 6, fill: () => colour(`c${n}`), stroke: () => colour(`c${n}`) },
      spanGaps: true,
    };
  }
}

function joined(series: Point[][], x: "wait" | "k"): uPlot.AlignedData {
  const places = [...new Set(series.flat().map((point) => point[x]))].sort((a, b) => a - b);
  const columns = series.map((points) => {
    const at = new Map(points.map((point) => [point[x], point.loss]));
    return places.map((place) => at.get(place));
  });
  return [places, ...columns] as uPlot.AlignedData;
}

function middle(found: Compared): Point | undefined {
  const wanted = found.ks.map((point) => point.window)[0];
  return found.windows.find((point) => point.window === wanted) ?? found.windows.at(-1);
}

function key(sheet: Sheet): string {
  return JSON.stringify({ ...sheet, algorithm: "" });
}
