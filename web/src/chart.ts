/** Charts: lines over the last minutes, and bars. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { make, write } from "./element";
import { beginning } from "./past";
import { colour } from "./theme";

export interface Line {
  name: string;
  label: string;
  colour: string;
  filled?: boolean;
}

type Values = (number | null)[];

const HEIGHT = 170;
const FONT = "12px system-ui, sans-serif";

/** A card with a title, a unit, a plot and room for a few words. */
export class Card {
  readonly element: HTMLElement;
  readonly plot: HTMLElement;
  readonly note: HTMLElement;

  constructor(title: string, unit: string, legend: Line[] = []) {
    const heading = make("h2", {}, title, " ", make("small", {}, unit));
    const keys = legend.length > 1 ? legend.map((line) => make("li", { class: line.colour }, line.label)) : [];
    this.plot = make("div", { class: "plot", role: "img", "aria-label": title });
    this.note = make("p", { class: "note muted" });
    const top = make("figcaption", {}, heading, ...(keys.length ? [make("ul", { class: "legend" }, ...keys)] : []));
    this.element = make("figure", { class: "card" }, top, this.plot, this.note);
  }

  say(text: string): void {
    write(this.note, text);
  }

  describe(text: string): void {
    this.plot.setAttribute("aria-label", text);
  }
}

/** Lines over time. */
export class Lines {
  private readonly chart: uPlot;

  constructor(
    card: Card,
    private readonly lines: Line[],
    private readonly form: (value: number) => string,
    top?: number,
  ) {
    this.chart = drawn(card.plot, {
      scales: {
        x: { time: true, range: (_, first, last) => [beginning(first ?? 0, last ?? 0), last ?? 1] },
        y: { range: (_, __, high) => [0, top ?? Math.max(high || 0, 1) * 1.12] },
      },
      axes: [axis({ size: 26, space: 70, values: (_, ticks) => ticks.map(moment) }), axis({ size: 52, values: (_, ticks) => ticks.map(this.form) })],
      series: [{}, ...lines.map(stroke)],
    });
  }

  draw(time: number[], columns: Values[]): void {
    this.chart.setData([time, ...columns] as uPlot.AlignedData);
  }

  summary(columns: Values[]): string {
    const last = (column: Values) => column.findLast((value) => value != null);
    return this.lines
      .map((line, n) => {
        const value = last(columns[n] ?? []);
        return `${line.label} ${value == null ? "unknown" : this.form(value)}`;
      })
      .join(", ");
  }
}

/** Bars side by side; a line may stand where something is due. */
export class Bars {
  private readonly chart: uPlot;
  private labels: string[] = [];

  constructor(card: Card, private readonly limit?: string) {
    this.chart = drawn(card.plot, {
      scales: {
        x: { time: false, range: (_, __, last) => [-0.6, (last ?? 0) + (limit ? 1.1 : 0.6)] },
        y: { range: (_, __, high) => [0, Math.max(high || 0, 1) * (limit ? 1.3 : 1.12)] },
      },
      axes: [
        axis({ size: 26, space: 1, splits: () => this.labels.map((_, n) => n), values: () => this.labels }),
        axis({ size: 52, values: (_, ticks) => ticks.map((tick) => (tick % 1 ? "" : String(tick >= 1000 ? `${tick / 1000} k` : tick))) }),
      ],
      series: [
        {},
        { stroke: () => colour("sea"), fill: () => colour("sea-soft"), width: 1, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.86, 60] }) },
      ],
      hooks: { draw: [(chart) => this.limit && this.rule(chart)] },
    });
  }

  draw(labels: string[], values: number[]): void {
    this.labels = labels;
    this.chart.setData([values.map((_, n) => n), values]);
  }

  private rule(chart: uPlot): void {
    upright(chart, this.labels.length - 0.5 - (this.labels.at(-1) === "" ? 1 : 0), "sand", this.limit ?? "", "right");
  }
}

/** A line from bottom to top, with a word beside it. */
export function upright(chart: uPlot, at: number, ink: string, word: string, align: "left" | "right"): void {
  const { ctx, bbox } = chart;
  const x = Math.round(chart.valToPos(at, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour(ink);
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = align;
  ctx.fillText(word, x + (align === "left" ? 6 : -6) * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  ctx.restore();
}

function moment(time: number): string {
  const at = new Date(1000 * time);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}${at.getSeconds() ? `:${two(at.getSeconds())}` : ""}`;
}

const charts: uPlot[] = [];

/** After a change of colours. */
export function redraw(): void {
  for (const chart of charts) chart.redraw(false);
}

export function drawn(place: HTMLElement, options: Omit<uPlot.Options, "width" | "height">, height = HEIGHT): uPlot {
  const chart = new uPlot(
    { width: 320, height, legend: { show: false }, cursor: { show: false }, ...options },
    options.series.map(() => []) as unknown as uPlot.AlignedData,
    place,
  );
  charts.push(chart);
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width > 0) chart.setSize({ width, height });
  }).observe(place);
  return chart;
}

export function axis(more: uPlot.Axis): uPlot.Axis {
  return {
    stroke: () => colour("muted"),
    font: FONT,
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { show: false },
    gap: 6,
    ...more,
  };
}

function stroke(line: Line): uPlot.Series {
  return {
    label: line.label,
    stroke: () => colour(line.colour),
    width: 2,
    points: { show: false },
    spanGaps: true,
    ...(line.filled ? { fill: () => colour(`${line.colour}-soft`) } : {}),
  };
}
