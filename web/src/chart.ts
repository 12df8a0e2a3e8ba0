/** Charts: lines over the last minutes, and bars. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { make, write } from "./element";
import { clock, count, NONE } from "./format";
import { beginning, type Past, type Span } from "./past";
import type { Entry } from "./snapshot";
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
  readonly values: HTMLElement[];

  constructor(title: string, unit: string, legend: Line[] = []) {
    const heading = make("h2", {}, title, " ", make("small", {}, unit));
    this.values = (legend.length ? legend : [undefined]).map(() => make("b", { class: "number" }));
    const keys = legend.length
      ? legend.map((line, n) => make("li", { class: line.colour }, legend.length > 1 ? `${line.label} ` : "", this.values[n] as HTMLElement))
      : [make("li", { class: "plain" }, this.values[0] as HTMLElement)];
    this.plot = make("div", { class: "plot", role: "img", "aria-label": title });
    this.note = make("p", { class: "note muted" });
    const top = make("figcaption", {}, heading, make("ul", { class: "legend" }, ...keys));
    this.element = make("figure", { class: "card" }, top, this.plot, this.note);
  }

  say(text: string): void {
    write(this.note, text);
  }

  describe(text: string): void {
    this.plot.setAttribute("aria-label", text);
  }
}

/** A moment that all charts over time show: that under the pointer, or one that was chosen; else the last one. */
class Moment {
  private readonly all: Lines[] = [];
  private chosen: number | undefined;
  onChange: (time: number | undefined) => void = () => {};

  join(lines: Lines): void {
    this.all.push(lines);
  }

  /** By its time; undefined is the last one. */
  choose(time: number | undefined): void {
    this.chosen = time;
    for (const lines of this.all) lines.point(time);
    this.onChange(time);
  }

  /** The pointer is over a row, or has left. */
  hover(time: number | undefined): void {
    this.onChange(time ?? this.chosen);
    if (time === undefined && this.chosen !== undefined) for (const lines of this.all) lines.point(this.chosen);
  }

  again(lines: Lines): void {
    if (this.chosen !== undefined) lines.point(this.chosen);
  }
}

export const moment = new Moment();
const KEY = "moment";

/** What happened, for marks on all charts over time. */
export const happened: { entries: Entry[] } = { entries: [] };

/** Lines over time. */
export class Lines {
  private readonly chart: uPlot;
  private span: Span = "minutes";
  private columns: Values[] = [];
  private time: number[] = [];

  constructor(
    private readonly card: Card,
    private readonly lines: Line[],
    private readonly form: (value: number) => string,
    top?: number,
  ) {
    this.chart = drawn(card.plot, {
      scales: {
        x: { time: true, range: (_, first, last) => [beginning(this.span, first ?? 0, last ?? 0), last ?? 1] },
        y: { range: (_, __, high) => [0, top ?? Math.max(high || 0, this.least) * 1.12] },
      },
      axes: [
        axis({ size: 26, space: 70, values: (_, ticks) => ticks.map((tick) => clock(tick)) }),
        axis({ size: 52, values: (_, ticks) => ticks.map(this.form) }),
      ],
      series: [{}, ...lines.map(stroke)],
      cursor: {
        show: true,
        y: false,
        drag: { x: false, y: false },
        points: { size: 8 },
        sync: { key: KEY, setSeries: false, scales: ["x", null] },
      },
      hooks: { setCursor: [() => this.read()], draw: [(chart) => marks(chart)] },
    });
    moment.join(this);
    card.plot.addEventListener("mouseleave", () => moment.hover(undefined));
  }

  /** The least height of the scale. */
  protected readonly least: number = 1;

  draw(past: Past, names: string[]): void {
    this.span = past.span;
    this.time = past.time;
    this.columns = names.map((name) => past.of(name));
    this.chart.setData([this.time, ...this.columns] as uPlot.AlignedData);
    moment.again(this);
    this.read();
    this.card.describe(`${PERIOD[past.span]}; now ${this.summary()}`);
  }

  /** Move the cursor to a time; away without one. */
  point(time: number | undefined): void {
    const left = time === undefined ? -10 : this.chart.valToPos(time, "x");
    const set: (to: { left: number; top: number }, fires: boolean, publishes: boolean) => void = this.chart.setCursor;
    set({ left, top: time === undefined ? -10 : 5 }, true, false);
  }

  /** Write the values of the row under the cursor, or of the last one. */
  private read(): void {
    const row = this.chart.cursor.idx;
    this.columns.forEach((column, n) => {
      const value = row == null ? column.findLast((each) => each != null) : column[row];
      const element = this.card.values[n];
      if (element) write(element, value == null ? NONE : this.form(value));
    });
    const isHovered = this.card.plot.matches(":hover");
    if (isHovered) moment.hover(this.chart.cursor.idx == null ? undefined : this.time[this.chart.cursor.idx]);
  }

  private summary(): string {
    return this.lines
      .map((line, n) => {
        const value = this.columns[n]?.findLast((each) => each != null);
        return `${line.label} ${value == null ? "unknown" : this.form(value)}`;
      })
      .join(", ");
  }
}

const PERIOD: Record<Span, string> = { minutes: "The last minutes", hour: "The last hour", day: "The last day" };

/** A mark at the top of a chart for each thing that somebody should look at. */
function marks(chart: uPlot): void {
  const { ctx, bbox } = chart;
  ctx.save();
  for (const { at, level } of happened.entries) {
    const x = Math.round(chart.valToPos(at, "x", true));
    if (level === "info" || x < bbox.left || x > bbox.left + bbox.width) continue;
    const size = 5 * devicePixelRatio;
    ctx.fillStyle = colour(level === "red" ? "bad" : "amber");
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top);
    ctx.lineTo(x + size, bbox.top);
    ctx.lineTo(x, bbox.top + 1.6 * size);
    ctx.fill();
  }
  ctx.restore();
}

/** Bars side by side; a line may stand where something is due. */
export class Bars {
  private readonly chart: uPlot;
  private labels: string[] = [];

  constructor(private readonly card: Card, private readonly limit?: string, private readonly places = Infinity) {
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
      cursor: { show: true, x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
      hooks: { draw: [(chart) => this.limit && this.rule(chart)], setCursor: [() => this.read()] },
    });
  }

  /** `bars` say what each bar is, for the pointer. */
  draw(labels: string[], values: number[], bars: string[] = labels): void {
    this.labels = labels;
    this.bars = bars;
    this.values = values;
    this.chart.setData([values.map((_, n) => n), values]);
    this.read();
  }

  private bars: string[] = [];
  private values: number[] = [];

  private read(): void {
    const bar = this.chart.cursor.idx;
    const value = bar == null ? undefined : this.values[bar];
    const element = this.card.values[0];
    if (element) write(element, value === undefined ? "" : `${this.bars[bar as number]}: ${count(value)}`);
  }

  private rule(chart: uPlot): void {
    upright(chart, Math.min(this.places, this.labels.length) - 0.5, "sand", this.limit ?? "", "right");
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
