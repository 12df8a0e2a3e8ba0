/** A small histogram: how often values are there, and how often they seem to be there in what left. */

import { count } from "../format";
import type { Distribution } from "./model";
import { draw } from "./svg";

const WIDTH = 128;
const HEIGHT = 34;

export function histogram(name: string, { edges, labels, before, after }: Distribution): SVGSVGElement {
  const top = Math.max(1, ...before, ...(after ?? []));
  const step = WIDTH / Math.max(before.length, 1);
  const height = (value: number) => (Math.max(value, 0) / top) * (HEIGHT - 2);
  const bars = before.map((value, n) => draw("rect", { class: "before", x: n * step + 0.5, width: Math.max(step - 1, 0.5), y: HEIGHT - height(value), height: height(value) }, draw("title", {}, told(n, edges, labels, before, after))));
  const line = (after ?? []).map((value, n) => `${n ? "" : "M0"} ${n ? "" : HEIGHT - height(value)}V${(HEIGHT - height(value)).toFixed(1)}h${step.toFixed(2)}`).join("");
  const said = after ? `Distribution of ${name}: off by ${Math.round(100 * off(before, after))} % after` : `Distribution of ${name}`;
  return draw("svg", { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said, preserveAspectRatio: "none" }, ...bars, draw("path", { class: "after", d: line }));
}

/** How much of all lies elsewhere than it did. */
export function off(before: number[], after: number[]): number {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0) || 1;
  const [all, shown] = [sum(before), sum(after)];
  return before.reduce((total, value, n) => total + Math.abs(value / all - (after[n] ?? 0) / shown), 0) / 2;
}

function told(n: number, edges: number[], labels: string[], before: number[], after?: number[]): string {
  const short = (value: number | undefined) => String(Number((value ?? 0).toPrecision(4)));
  const where = labels.length ? labels[n] : `${short(edges[n])} to ${short(edges[n + 1])}`;
  return `${where}: ${count(before[n] ?? 0)}${after ? ` before, about ${count(after[n] ?? 0)} after` : ""}`;
}
