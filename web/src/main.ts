/** The page: takes in events and shows them. */

import "./style.css";

import type { Board } from "./board";
import { redraw } from "./chart";
import { byId, mark, write } from "./element";
import { Filter } from "./filter";
import { count, seconds, wait } from "./format";
import { Past } from "./past";
import { Sample } from "./sample";
import type { Snapshot } from "./snapshot";
import { themed } from "./theme";
import { Windowed } from "./windowed";

const QUIET = 5; // seconds without an event after which the connection counts as lost

const past = new Past();
const sample = new Sample();
let board: Board | undefined;
let paused = false;
let last: Snapshot | undefined;
let heard = 0;

function take(told: Snapshot): void {
  last = told;
  heard = performance.now();
  const fresh = past.take(told);
  if (paused) return;
  show(told, fresh);
}

function show(told: Snapshot, fresh: boolean): void {
  const first = !board;
  board ??= lay(told);
  state(told, false);
  promise(told);
  board.figures(told);
  sample.draw(told);
  if ((fresh || first) && !document.hidden) board.charts(told, past);
}

function lay(told: Snapshot): Board {
  const made = told.policy.kind === "filter" ? new Filter() : new Windowed(told);
  byId("tiles").replaceChildren(...made.tiles.map((tile) => tile.element));
  byId("charts").replaceChildren(...made.cards);
  const { algorithm, kind, window, unit, k } = told.policy;
  const length = kind === "filter" ? `window ${seconds(window)}` : kind === "buffer" ? `buffer ${count(window)}` : `window ${wait(window, unit)}`;
  write(byId("policy"), kind === "filter" ? `${algorithm} · ${length}` : `${algorithm} · k ${k} · ${length}`);
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
  mark(pill, "state", name);
  write(pill, { stopped: "stopped", lost: "no connection", starting: "starting", running: "running" }[name]);
  const box = byId("alert");
  box.hidden = name !== "stopped" && name !== "lost";
  if (name === "stopped") {
    write(byId("alert-title"), "The pipeline has stopped.");
    write(byId("alert-text"), `Reason: ${told?.reason ?? "not told"}. What you see is how it stood then.`);
  } else if (name === "lost") {
    write(byId("alert-title"), "No connection to the pipeline.");
    write(byId("alert-text"), "What you see is how it stood last. Trying again …");
  }
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
  if (!paused && last) show(last, true);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && last && !paused) show(last, true);
});
themed(byId<HTMLButtonElement>("theme"), redraw);
