/** For transaction streams: how likely users are k-anonymous, by z, with a z that can be moved. */

import uPlot from "uplot";

import { axis, Card, drawn, type Line, upright } from "../chart";
import { make, write } from "../element";
import { count, percent, seconds, short } from "../format";
import { colour } from "../theme";
import { chances, Outdated, Refused } from "./api";
import { choice } from "./control";
import type { Chances, Sheet } from "./model";

const LINES: Line[] = [
  { name: "probability", label: "k-anonymous users, model", colour: "sea" },
  { name: "measured", label: "in the sample", colour: "sand" },
  { name: "kept", label: "observations kept", colour: "coral" },
];
const KS = ["2", "3", "5", "10"];

export class Curve {
  readonly element: HTMLElement;
  private readonly card = new Card("Users who are k-anonymous, by z", "and what is kept", LINES);
  private readonly note = make("p", { role: "status" });
  private readonly use = make("button", { type: "button", class: "main", hidden: "" });
  private readonly chart: uPlot;
  private k = "2";
  private asked = "";
  private found?: Chances;
  private z = 1;

  constructor(private readonly sheet: () => Sheet, private readonly pick: (z: number) => void) {
    this.card.plot.classList.add("tall");
    const k = choice(this.k, KS.map((each): [string, string] => [each, `k ${each}`]), (value) => {
      this.k = value;
      this.asked = "";
      void this.changed(this.sheet());
    }, { "aria-label": "k that users should reach" });
    this.use.addEventListener("click", () => this.found && this.pick(this.found.best));
    this.element = make("div", { class: "curve" }, this.card.element);
    this.card.element.append(make("div", { class: "together" }, k, this.use, this.note));
    this.chart = drawn(
      this.card.plot,
      {
        scales: { x: { time: false, distr: 3 }, y: { range: [0, 1.02] } },
        axes: [
          axis({ size: 26, space: 40, values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : short(tick))) }),
          axis({ size: 52, values: (_, ticks) => ticks.map((tick) => `${Math.round(100 * tick)} %`) }),
        ],
        series: [{}, ...LINES.map((line): uPlot.Series => ({ stroke: () => colour(line.colour), width: 2, points: { show: false } }))],
        hooks: { draw: [() => this.rule()] },
      },
      280,
    );
    this.card.plot.addEventListener("click", (event) => {
      const box = this.chart.over.getBoundingClientRect();
      const z = Math.round(this.chart.posToVal(event.clientX - box.left, "x"));
      if (this.found && z >= 1) this.pick(z);
    });
  }

  async changed(sheet: Sheet): Promise<void> {
    this.element.hidden = sheet.algorithm !== "zanon";
    if (this.element.hidden) return;
    this.z = Number(sheet.z);
    this.chart.redraw(false);
    this.tell();
    const key = [sheet.person, sheet.time, sheet.item, sheet.span, this.k].join("\n");
    if (key === this.asked) return;
    this.asked = key;
    if (!sheet.person || !sheet.time || !sheet.item) return this.empty("Choose the fields of person, time and item to see the curves.");
    try {
      const found = await chances(sheet, Number(this.k), 0.95);
      if (this.asked !== key) return;
      this.found = found;
      const column = (name: "probability" | "measured" | "kept") => found.rows.map((row) => row[name]);
      this.chart.setData([found.rows.map((row) => row.z), column("probability"), column("measured"), column("kept")]);
      this.tell();
    } catch (error) {
      if (error instanceof Outdated) return;
      this.empty(error instanceof Refused ? error.message : "The curves failed.");
    }
  }

  private empty(why: string): void {
    this.found = undefined;
    this.chart.setData([[], [], [], []]);
    this.use.hidden = true;
    write(this.note, why);
    this.card.say("");
  }

  private tell(): void {
    const { found } = this;
    if (!found) return;
    const at = found.rows.reduce((best, row) => (Math.abs(row.z - this.z) < Math.abs(best.z - this.z) ? row : best), found.rows[0]!);
    this.use.hidden = found.best === this.z;
    write(this.use, `Use z ${found.best}`);
    const enough = found.met ? `z ${found.best} is the least for ${percent(found.confidence)}` : `no z makes ${percent(found.confidence)} of the users ${found.k}-anonymous`;
    const text = `About z ${at.z}: ${percent(at.measured)} of the users ${found.k}-anonymous in the sample, ${percent(at.kept)} of the observations kept; ${enough}.`;
    write(this.note, text);
    this.card.say(`${count(found.observations)} observations, ${count(found.users)} users in ${seconds(found.window)}. Click into the chart to move z.`);
    this.card.describe(text);
  }

  private rule(): void {
    const { chart, z } = this;
    if (!chart || !this.found || !(z >= 1)) return;
    upright(chart, z, "ink", `z ${z}`, "left");
  }
}
