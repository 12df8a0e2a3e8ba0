/** What time the charts show: five minutes, an hour or a day; and one moment of it, by keyboard and by finger too. */

import { moment } from "./chart";
import { byId, make, write } from "./element";
import { moment as told } from "./format";
import { NAMES, type Past, type Span } from "./past";

export class Period {
  span: Span = "minutes";
  private readonly slider = make("input", { type: "range", id: "moment", min: "0", max: "0", value: "0", "aria-label": "Moment" });
  private readonly said = make("output", { for: "moment", id: "moment-said" }, "now");
  private time: number[] = [];
  private chosen: number | undefined;

  constructor(changed: () => void) {
    const choices = (Object.keys(NAMES) as Span[]).map((span) => {
      const radio = make("input", { type: "radio", name: "span", value: span, id: `span-${span}` });
      radio.checked = span === this.span;
      radio.addEventListener("change", () => {
        this.span = span;
        this.choose(undefined);
        changed();
      });
      return make("label", {}, radio, make("span", {}, NAMES[span]));
    });
    const group = make("div", { class: "choices", role: "radiogroup", "aria-label": "Time shown" }, ...choices);
    byId("period").append(group, make("div", { class: "moment" }, this.slider, this.said));
    this.slider.addEventListener("input", () => {
      const row = Number(this.slider.value);
      this.choose(row >= this.time.length - 1 ? undefined : this.time[row]);
    });
    moment.onChange = (time) => this.say(time);
  }

  /** The rows are other ones; a moment that was chosen stays until it is gone. */
  follow(past: Past): void {
    this.time = past.time;
    const first = this.time[0];
    if (this.chosen !== undefined && first !== undefined && this.chosen < first) this.choose(undefined);
    this.slider.max = String(Math.max(this.time.length - 1, 0));
    const row = this.chosen === undefined ? -1 : this.time.findIndex((time) => time >= (this.chosen as number));
    this.slider.value = String(row < 0 ? this.time.length - 1 : row);
  }

  private choose(time: number | undefined): void {
    this.chosen = time;
    moment.choose(time);
  }

  private say(time: number | undefined): void {
    const text = time === undefined ? "now" : told(time, Date.now() / 1000);
    write(this.said, text);
    this.slider.setAttribute("aria-valuetext", text);
  }
}
