/** What keeps a pipeline from losing anything: checkpoints, and how far it lags behind its source. */

import { make, write } from "./element";
import { bytes, count, NONE, seconds } from "./format";
import { type Snapshot, stopped } from "./snapshot";

const NAMES = ["Last checkpoint", "Waiting in the source", "New fields, ignored", "Stopped by the door", "Running for"] as const;

export class Safety {
  readonly element: HTMLElement;
  private readonly values = new Map<string, HTMLElement>();

  constructor() {
    const entries = NAMES.map((name) => {
      const value = make("dd", {}, NONE);
      this.values.set(name, value);
      return make("div", {}, make("dt", {}, name), value);
    });
    this.element = make("section", { class: "card safety" }, make("h2", {}, "Safety"), make("dl", {}, ...entries));
  }

  figures(told: Snapshot): void {
    const { checkpoint, lag } = told;
    const size = checkpoint ? `${seconds(Math.round(checkpoint.age))} ago, ${bytes(checkpoint.bytes)} in ${seconds(checkpoint.seconds)}` : "none";
    const faults = stopped(told);
    this.say("Last checkpoint", size);
    this.say("Waiting in the source", lag == null ? "not known" : count(lag));
    this.say("New fields, ignored", count(told.new_fields));
    this.say("Stopped by the door", faults ? `${count(faults)}: please report it` : "nothing");
    this.say("Running for", seconds(Math.floor(told.uptime)));
  }

  private say(name: (typeof NAMES)[number], text: string): void {
    write(this.values.get(name) as HTMLElement, text);
  }
}
