/** The workbench: a file comes in, a sheet is filled in, every change is checked and tried. */

import "../style.css";
import "./lab.css";

import { redraw } from "../chart";
import { byId, mark, write } from "../element";
import { count } from "../format";
import { themed } from "../theme";
import * as api from "./api";
import { Comparison } from "./comparison";
import { Curve } from "./curve";
import { Fields } from "./fields";
import { Frontier, type KeptDots } from "./frontier";
import { show } from "./messages";
import { Past, type Steps } from "./past";
import type { Reading, Sheet, State } from "./model";
import { drawReading } from "./reading";
import { Results } from "./results";
import { Rows } from "./rows";
import { Settings } from "./settings";
import { Takeaway } from "./takeaway";

const PAUSE = 150; // milliseconds after a change before it is tried
const KEEP = 500; // milliseconds before the session is kept

/** What a reload brings back. */
interface Session {
  opened: number;
  sheet: Sheet;
  steps: Steps;
  dots: KeptDots;
}

class Bench {
  private readonly results = new Results(byId("results"), byId("risk"));
  private readonly rows = new Rows(byId("rows"));
  private readonly fields = new Fields(byId("fields"));
  private readonly settings: Settings;
  private readonly comparison: Comparison;
  private readonly curve: Curve;
  private readonly takeaway: Takeaway;
  private readonly frontier: Frontier;
  private readonly past: Past;
  private readonly ended = new AbortController();
  private turn = 0;
  private timer = 0;
  private keeping = 0;
  private profiled = "";

  constructor(private readonly state: State, private sheet: Sheet, kept: Partial<Session>) {
    this.past = new Past(sheet, kept.steps);
    this.settings = new Settings(byId("settings"), byId("people"), state);
    this.comparison = new Comparison(byId("comparison"), state, () => this.sheet, (name) => {
      this.sheet.algorithm = name;
      this.changed(true);
    });
    this.curve = new Curve(() => this.sheet, (z) => {
      this.sheet.z = String(z);
      this.settings.showZ(this.sheet.z);
      this.changed();
    });
    byId("comparison").before(this.curve.element);
    this.takeaway = new Takeaway(byId("takeaway"), state, () => this.sheet);
    this.frontier = new Frontier(byId("frontier"), state, () => this.sheet, (found) => this.set(found), () => this.keep());
    if (kept.dots) this.frontier.restore(kept.dots);
    const { signal } = this.ended;
    byId("undo").addEventListener("click", () => this.go(true), { signal });
    byId("redo").addEventListener("click", () => this.go(false), { signal });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    window.addEventListener("pagehide", () => this.leave(), { signal });
    this.changed(true);
  }

  /** Another sheet in place of this one. */
  set(sheet: Sheet): void {
    this.sheet = sheet;
    this.changed(true);
  }

  private go(back: boolean): void {
    this.past.note(this.sheet);
    const found = this.past.go<Sheet>(back);
    if (found) this.set(found);
  }

  /** Texts have an undo of their own. */
  private key(event: KeyboardEvent): void {
    const letter = event.key.toLowerCase();
    const typing = event.target instanceof Element && event.target.matches("input[type=text], input[type=search], textarea");
    if (typing || !(event.ctrlKey || event.metaKey) || (letter !== "z" && letter !== "y")) return;
    event.preventDefault();
    this.go(letter === "z" && !event.shiftKey);
  }

  private keep(): void {
    clearTimeout(this.keeping);
    this.keeping = window.setTimeout(() => this.send(), KEEP);
  }

  private send(leaving = false): void {
    this.keeping = 0;
    const session: Session = { opened: this.state.sample?.opened ?? 0, sheet: this.sheet, steps: this.past.toJSON(), dots: this.frontier.kept() };
    void api.keep(session, leaving).catch(() => undefined);
  }

  /** A page that is left, or loaded anew, keeps its last change. */
  private leave(): void {
    const isNew = this.past.note(this.sheet);
    clearTimeout(this.keeping);
    if (isNew || this.keeping) this.send(true);
  }

  /** Put away, to make room for another. */
  close(): void {
    this.turn++;
    clearTimeout(this.timer);
    clearTimeout(this.keeping);
    this.frontier.stop();
    this.ended.abort();
    this.curve.element.remove();
  }

  private changed(again = false): void {
    if (again) {
      const held = document.activeElement?.id;
      this.settings.draw(this.sheet, (more) => this.changed(more));
      this.fields.draw(this.sheet, () => this.changed());
      if (held) document.getElementById(held)?.focus();
    }
    this.results.stale(true);
    this.comparison.changed(this.sheet);
    this.frontier.changed(this.sheet);
    say("busy", "trying");
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.tried(++this.turn), PAUSE);
  }

  /** What the fields hold; how well they tell persons apart depends on who is a person, and on the other fields. */
  private async profile(sheet: Sheet): Promise<void> {
    const roles = sheet.fields.filter((each) => each.role === "numeric" || each.role === "categorical").map((each) => each.name);
    const asked = JSON.stringify([sheet.person, roles]);
    if (asked === this.profiled) return;
    this.profiled = asked;
    const found = await api.columns(sheet);
    if (asked === this.profiled) this.fields.profile(found);
  }

  private async returning(sheet: Sheet, turn: number): Promise<void> {
    if (!sheet.fields.some((each) => each.role === "sensitive" && each.stable)) return;
    const found = await api.across(sheet);
    if (turn === this.turn) this.results.returning(found);
  }

  private async tried(turn: number): Promise<void> {
    const sheet = structuredClone(this.sheet);
    this.past.note(sheet);
    byId<HTMLButtonElement>("undo").disabled = !this.past.can(true);
    byId<HTMLButtonElement>("redo").disabled = !this.past.can(false);
    this.keep();
    void this.profile(sheet).catch(() => undefined);
    try {
      const messages = await api.check(sheet);
      if (turn !== this.turn) return;
      show(messages);
      fail("");
      const problems = messages.filter((message) => message.kind === "problem").length;
      const stops = messages.some((message) => message.stops);
      this.takeaway.allow(!stops);
      void this.takeaway.changed(sheet).catch(() => undefined);
      void this.curve.changed(sheet);
      if (stops) return say("problem", problems === 1 ? "one problem" : `${problems} problems`);
      if (!this.state.algorithms[sheet.algorithm]) say("busy", `compiling ${sheet.algorithm}, once: up to a minute`);
      const trial = await api.trial(sheet);
      if (turn !== this.turn) return;
      this.state.algorithms[sheet.algorithm] = true;
      this.results.show(trial);
      this.results.stale(false);
      this.rows.show(trial.rows);
      this.fields.losses(trial.kind === "window" ? trial.attributes : [], trial.kind === "window" ? trial.distributions : {});
      this.results.judging();
      say(problems ? "problem" : "busy", problems ? "tried, with problems" : "auditing");
      const risk = await api.risk(sheet);
      if (turn !== this.turn) return;
      this.results.risk(risk);
      if (risk.point) this.frontier.add(sheet, { ...risk.point, ...(trial.kind === "window" ? { wait: trial.wait } : {}) });
      this.keep();
      if (!problems) say("running", "tried and audited");
      await this.returning(sheet, turn);
    } catch (error) {
      if (turn !== this.turn || error instanceof api.Outdated) return;
      say("problem", "not tried");
      fail(error instanceof Error ? error.message : "Something went wrong.");
    }
  }
}

/** While the results are out of view, their verdict stays. */
function brief(): void {
  new IntersectionObserver(([entry]) => mark(byId("brief"), "shown", String(!entry?.isIntersecting))).observe(byId("results"));
}

function say(state: "busy" | "running" | "problem" | "starting", text: string): void {
  mark(byId("state"), "state", state);
  write(byId("state"), text);
}

function fail(text: string): void {
  byId("alert").hidden = !text;
  write(byId("alert"), text);
}

let bench: Bench | undefined;
let known: State | undefined;
const begun = api.state();

async function open(state: State): Promise<void> {
  const { sample } = state;
  const kept: Partial<Session> = sample ? await api.session<Session>() : {};
  const sheet = sample && (kept.sheet ?? (await api.draft()));
  known = state;
  byId("drop").hidden = sample != null;
  byId("bench").hidden = sample == null;
  for (const id of ["other", "open-policy", "undo", "redo"]) byId(id).hidden = sample == null;
  if (!sample || !sheet) {
    say("starting", "no file yet");
    return;
  }
  const broken = sample.malformed ? `, ${count(sample.malformed)} cannot be read` : "";
  write(byId("file"), `${sample.name} · ${sample.complete ? "all" : "the first"} ${count(sample.rows)} rows${broken}`);
  document.title = `${sample.name} · shoal lab`;
  drawReading(byId("reading"), sample, (given) => void readAs(given, state));
  bench?.close();
  bench = new Bench(state, sheet, kept);
}

/** Read the file in another way; if that is not possible, what was there stays. */
async function readAs(given: Partial<Reading>, before: State): Promise<void> {
  say("busy", "reading the file anew");
  fail("");
  try {
    await open(await api.reading(given));
  } catch (error) {
    if (before.sample) drawReading(byId("reading"), before.sample, (other) => void readAs(other, before));
    say("problem", "not read so");
    fail(error instanceof Error ? error.message : "The file could not be read.");
  }
}

async function take(file: File | undefined): Promise<void> {
  if (!file) return;
  say("busy", `reading ${file.name}`);
  fail("");
  try {
    await open(await api.receive(file, (known ??= await begun)));
  } catch (error) {
    bench?.close();
    bench = undefined;
    write(byId("file"), "");
    for (const id of ["other", "open-policy", "undo", "redo"]) byId(id).hidden = true;
    byId("bench").hidden = true;
    write(byId("brief"), "");
    byId("drop").hidden = false;
    say("problem", "not read");
    fail(error instanceof Error ? error.message : "The file could not be read.");
  }
}

const choose = byId<HTMLInputElement>("choose");
choose.addEventListener("change", () => {
  void take(choose.files?.[0]);
  choose.value = "";
});
byId("other").addEventListener("click", () => choose.click());
const existing = byId<HTMLInputElement>("choose-policy");
byId("open-policy").addEventListener("click", () => existing.click());
existing.addEventListener("change", async () => {
  const file = existing.files?.[0];
  existing.value = "";
  if (!file || !bench) return;
  try {
    bench.set(await api.openPolicy(file));
    fail("");
  } catch (error) {
    fail(error instanceof Error ? error.message : "The policy could not be read.");
  }
});
brief();
document.addEventListener("dragover", (event) => {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.body.dataset.over = "true";
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) delete document.body.dataset.over;
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  delete document.body.dataset.over;
  void take(event.dataTransfer?.files[0]);
});
themed(byId<HTMLButtonElement>("theme"), redraw);
begun.then((state) => (known ? undefined : open(state))).catch((error: Error) => fail(error.message));
