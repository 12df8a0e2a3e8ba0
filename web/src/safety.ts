/** What keeps a pipeline from losing anything: where it reads and writes, checkpoints, and what the door stopped. */

import { make, mark, write } from "./element";
import { bytes, count, NONE, seconds } from "./format";
import { type Snapshot, stopped } from "./snapshot";

const NAMES = ["Source", "Sink", "Last checkpoint", "Waiting in the source", "New fields, ignored", "Stopped by the door", "Running for"] as const;
type Name = (typeof NAMES)[number];

export class Safety {
  readonly element: HTMLElement;
  private readonly values = new Map<string, HTMLElement>();

  constructor() {
    const entries = NAMES.map((name) => {
      const value = make("dd", {}, NONE);
      this.values.set(name, value);
      return make("div", {}, make("dt", {}, name), value);
    });
    this.element = make("section", { class: "card safety" }, make("h2", {}, "Pipeline"), make("dl", {}, ...entries));
  }

  figures(told: Snapshot): void {
    const { checkpoint, lag, links, about } = told;
    const link = (is: boolean | null | undefined) => (is == null ? "" : is ? ", connected" : ", no connection");
    this.say("Source", about.source ? about.source + link(links.source) : "not told", links.source === false ? "red" : "");
    this.say("Sink", about.sink ? about.sink + link(links.sink) : "not told", links.sink === false ? "red" : "");
    const size = checkpoint ? `${seconds(Math.round(checkpoint.age))} ago, ${bytes(checkpoint.bytes)} in ${seconds(checkpoint.seconds)}` : "none";
    const faults = stopped(told);
    const old = told.checks.checkpoint?.level;
    this.say("Last checkpoint", size, old === "amber" || old === "red" ? old : "");
    this.say("Waiting in the source", lag == null ? "not known" : count(lag));
    this.say("New fields, ignored", count(told.new_fields), told.new_fields ? "amber" : "");
    this.say("Stopped by the door", faults ? `${count(faults)}: please report it` : "nothing", faults ? "red" : "");
    this.say("Running for", seconds(Math.floor(told.uptime)));
  }

  private say(name: Name, text: string, mood: "" | "amber" | "red" = ""): void {
    const element = this.values.get(name) as HTMLElement;
    write(element, text);
    mark(element, "mood", mood);
  }
}
