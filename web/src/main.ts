/** The page: takes in events and shows them. */

import "./style.css";

import type { Board } from "./board";
import { redraw } from "./chart";
import { byId, mark, write } from "./element";
import { Filter } from "./filter";
import { clock, count, seconds, wait } from "./format";
import { Longer, Minutes, type Past } from "./past";
import { Period } from "./period";
import { Sample } from "./sample";
import { Shoal } from "./shoal";
import type { Snapshot } from "./snapshot";
import { themed } from "./theme";
import { Windowed } from "./windowed";

const QUIET = 5; // seconds without an event after which the connection counts as lost
const AGAIN = { hour: 10, day: 60 }; // seconds after which these are asked for again

const minutes = new Minutes();
const sample = new Sample();
const shoal = new Shoal();
let longer: Longer | undefined;
let asked = -Infinity;
let board: Board | undefined;
let paused = false;
let last: Snapshot | undefined;
let heard = 0;
const period = new Period(() => {
  asked = -Infinity;
  longer = undefined;
  if (last) charts(last);
});

function take(told: Snapshot): void {
  const entries = told.log.entries ?? last?.log.entries ?? null; // told only where it has changed, maybe during a pause
  last = { ...told, log: { ...told.log, entries } };
  heard = performance.now();
  const fresh = minutes.take(told);
  if (!paused) show(last, fresh);
}

function show(told: Snapshot, fresh: boolean): void {
  const first = !board;
  board ??= lay(told);
  state(told, false);
  promise(told);
  board.figures(told);
  sample.draw(told);
  shoal.follow(told);
  if ((fresh || first) && !document.hidden) charts(told);
}

/** What the charts show: the last minutes as they come, or an hour or a day as they were asked for. */
function charts(told: Snapshot): void {
  const { span } = period;
  const draw = (past: Past) => {
    board?.charts(told, past);
    period.follow(past);
  };
  if (span === "minutes") return draw(minutes);
  if (longer?.span === span) board?.live(told);
  if (performance.now() - asked < 1000 * AGAIN[span]) return;
  asked = performance.now();
  void Longer.ask(span).then((found) => {
    if (!found || period.span !== span || paused) return;
    longer = found;
    draw(found);
  });
}

function lay(told: Snapshot): Board {
  const made = told.policy.kind === "filter" ? new Filter(told) : new Windowed(told);
  byId("tiles").replaceChildren(...made.tiles.map((tile) => tile.element));
  byId("charts").replaceChildren(...made.cards);
  const { algorithm, kind, window, unit, k } = told.policy;
  const length = kind === "filter" ? `window ${seconds(window)}` : kind === "buffer" ? `buffer ${count(window)}` : `window ${wait(window, unit)}`;
  const { pipeline, source, sink } = told.about;
  const terms = kind === "filter" ? `${algorithm} · ${length}` : `${algorithm} · k ${k} · ${length}`;
  write(byId("policy"), pipeline ? `${pipeline} · ${terms}` : terms);
  write(byId("flow"), source && sink ? `${source} → ${sink}` : "");
  return made;
}

function promise(told: Snapshot): void {
  if (!board) return;
  const claim = board.promise(told);
  write(byId("promise-title"), claim.title);
  write(byId("claim-value"), claim.value);
  write(byId("claim-relation"), claim.relation);
  write(byId("claim-bound"), claim.bound);
  write(byId("verdict"), claim.verdict);
  mark(byId("promise"), "holds", claim.holds);
  document.title = `${[claim.value, claim.relation, claim.bound].join(" ")} · shoal`.replace(/ +/g, " ");
}

function state(told: Snapshot | undefined, lost: boolean): void {
  const name = told?.state === "stopped" ? "stopped" : lost ? "lost" : (told?.state ?? "starting");
  const pill = byId("state");
  const at = told ? clock(told.now, true) : "";
  mark(pill, "state", paused && name === "running" ? "paused" : name);
  const words = { stopped: "stopped", lost: "no connection", starting: "starting", running: paused ? "paused" : "running" };
  write(pill, words[name]);
  const box = byId("alert");
  box.hidden = name !== "stopped" && name !== "lost";
  mark(document.body, "stale", name === "stopped" || name === "lost" ? name : paused ? "paused" : "");
  if (name === "stopped") {
    write(byId("alert-title"), "The pipeline has stopped.");
    write(byId("alert-text"), `Reason: ${told?.reason ?? "not told"}. What you see is how it stood then.`);
  } else if (name === "lost") {
    write(byId("alert-title"), "No connection to the pipeline.");
    write(byId("alert-text"), `${at ? `What you see is how it stood at ${at}` : "Nothing has come yet"}. Trying again …`);
  }
  shoal.rest(paused || name !== "running");
}

const events = new EventSource("/api/events");
events.addEventListener("message", (event) => take(JSON.parse(event.data) as Snapshot));
events.addEventListener("error", () => state(last, true));
setInterval(() => {
  if (performance.now() - heard > 1000 * QUIET && !document.hidden) state(last, true);
}, 1000);

const button = byId<HTMLButtonElement>("pause");
button.addEventListener("click", () => {
  paused = !paused;
  button.setAttribute("aria-pressed", String(paused));
  write(button, paused && last ? `Paused at ${clock(last.now, true)} · resume` : "Pause");
  if (last) state(last, performance.now() - heard > 1000 * QUIET);
  if (!paused && last) show(last, true);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && last && !paused) show(last, true);
});
themed(byId<HTMLButtonElement>("theme"), redraw);
