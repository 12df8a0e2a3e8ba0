/** The server's paths, one function each. */

import type { Across, Chances, Change, Column, Compared, Dot, Entry, Message, Reading, Risk, Role, Rule, Sheet, State, Trial } from "./model";

export class Refused extends Error {
  constructor(readonly problems: string[]) {
    super(problems.join(" "));
  }
}

/** Something newer was asked for, and this answer is not needed any more. */
export class Outdated extends Error {}

export const state = () => json<State>(fetch("/api/lab"));
export const draft = () => json<Sheet>(fetch("/api/draft"));
export const check = (sheet: Sheet) => post<Message[]>("check", sheet);
export const trial = (sheet: Sheet) => post<Trial>("trial", sheet);
export const risk = (sheet: Sheet) => post<Risk>("risk", sheet);
export const compare = (sheet: Sheet, algorithm: string) => post<Compared>(`compare/${algorithm}`, sheet);
export const chances = (sheet: Sheet, k: number, confidence: number) => post<Chances>(`chances?k=${k}&confidence=${confidence}`, sheet);
export const calls = (sheet: Sheet) => post<{ cli: string; python: string }>("calls", sheet);
export const save = (sheet: Sheet) => post<{ saved: string }>("save", sheet);
export const propose = (name: string, role: Role) => post<Entry>("propose", { name, role });
export const reading = (given: Partial<Reading>) => post<State>("reading", given);
export const columns = (sheet: Sheet) => post<Column[]>("columns", sheet);
export const variations = (sheet: Sheet) => post<Change[]>("variations", sheet);
export const point = (sheet: Sheet) => post<Dot>("point", sheet);
export const across = (sheet: Sheet) => post<Across[]>("across", sheet);
export const blocks = (name: string, person: string, least: number) => post<{ blocks: string; kept: number; guess: number; rare: number }>("blocks", { name, person, least });
export const built = (name: string, rule: Rule) => post<Entry>("built", { name, rule });
export const writtenOut = (builder: string) => text("written-out", { builder });
export const lacking = (entry: Entry) => post<{ values: string[]; rare: number }>("lacking", entry);
export const session = <T>() => json<Partial<T>>(fetch("/api/session"));
/** While a page is left, browsers send small bodies only. */
export const keep = (kept: unknown, leaving = false) => sent("session", kept, { keepalive: leaving && new Blob([JSON.stringify(kept)]).size < 60_000 });
export const anonymized = (sheet: Sheet) => text("anonymized", sheet);
export const policy = (sheet: Sheet) => text("policy", sheet);
export const assessment = (sheet: Sheet) => text("assessment", sheet);
export const report = (sheet: Sheet) => text("report", sheet);

/** A text is sent as far as the lab looks at it; the rest of a large one never leaves the disk. */
export function receive(file: File, { text, whole }: State): Promise<State> {
  const isText = /\.(csv|tsv|jsonl|ndjson)(\.(gz|bz2|xz))?$/i.test(file.name);
  if (!isText && file.size > whole) throw new Refused([`${file.name}: is larger than ${whole >> 20} MB; start shoal lab with it`]);
  const part = isText ? file.slice(0, text) : file;
  const query = new URLSearchParams({ name: file.name, complete: String(part.size === file.size) });
  return json(fetch(`/api/sample?${query}`, { method: "POST", body: part, headers: { "content-type": "application/octet-stream" } }));
}

/** The tree in a hierarchy's file. */
export const hierarchy = async (file: File) => (await answered(handed("hierarchy", file))).text();

/** The sheet of an existing policy. */
export const openPolicy = (file: File) => json<Sheet>(handed("open", file));

function handed(path: string, file: File): Promise<Response> {
  const query = new URLSearchParams({ name: file.name });
  return fetch(`/api/${path}?${query}`, { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
}

function sent(path: string, body: unknown, more: RequestInit = {}): Promise<Response> {
  return fetch(`/api/${path}`, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, ...more });
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return json(sent(path, body));
}

async function json<T>(asked: Promise<Response>): Promise<T> {
  return (await answered(asked)).json() as Promise<T>;
}

async function text(path: string, body: unknown): Promise<string> {
  return (await answered(sent(path, body))).text();
}

async function answered(asked: Promise<Response>): Promise<Response> {
  let answer: Response;
  try {
    answer = await asked;
  } catch {
    throw new Refused(["The lab does not answer: it was closed, or its process has ended. Start it again, and reload this page."]);
  }
  if (answer.status === 204) throw new Outdated();
  if (answer.ok) return answer;
  const told = (await answer.json().catch(() => ({}))) as { problems?: string[]; detail?: unknown };
  const detail = typeof told.detail === "string" ? told.detail : "a text on this page is too long, or of a form that is not understood";
  throw new Refused(told.problems ?? [answer.status >= 500 ? "A fault of shoal; please report what you did." : detail]);
}
