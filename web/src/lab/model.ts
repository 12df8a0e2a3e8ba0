/** What the lab's server gives and takes. */

export type Role = "numeric" | "categorical" | "sensitive" | "keep" | "omit";

export interface Entry {
  name: string;
  role: Role;
  low: string;
  high: string;
  grid: string;
  clip: boolean;
  weight: string;
  tree: string;
  builder: string;
  part: string;
  lenient: boolean;
  generalize: "" | "node" | "set";
  most: string;
  stable: boolean;
  shown: "" | "block" | "bag" | "exact";
  blocks: string;
  note: string;
  noted: string;
}

/** Whether the note is about the role that the field has: one says why a field is left out, another what it is. */
export function noted({ note, role }: Entry): boolean {
  return Boolean(note) && note.includes(" is left out") === (role === "omit");
}

export interface Sheet {
  person: string;
  time: string;
  publish: "drop" | "keep" | "generalize";
  nulls: string[];
  k: string;
  window: string;
  kind: "count" | "time" | "buffer";
  algorithm: string;
  l: string;
  t: string;
  across: string;
  nulls_match: "" | "blurred" | "extended" | "root" | "maybe";
  suppressed: "" | "blank" | "publish" | "drop";
  accept: Record<string, string>;
  item: string;
  z: string;
  span: string;
  fields: Entry[];
  purpose: string;
  recipients: string;
  controller: string;
  contact: string;
  more: string;
}

export interface Taken {
  opened: number; // how many samples there were
  name: string;
  rows: number;
  malformed: number;
  complete: boolean;
  fields: string[];
  about: string;
  written: string;
  reading: Reading | null;
}

/** A builder of hierarchies, or a ready-made one, as boxes have it. */
export interface Rule {
  name: string;
  levels: string;
  range: string;
  by: string;
}

/** How the fields and numbers of a CSV are written. */
export interface Reading {
  separator: string;
  encoding: string;
  decimal: string;
  thousands: string;
}

export interface State {
  sample: Taken | null;
  algorithms: Record<string, boolean>;
  suffixes: string[];
  attacks: string[];
  text: number;
  whole: number;
  saves: string;
}

export interface Message {
  kind: "problem" | "warning";
  text: string;
  field: string;
  part: string;
  stops: boolean;
}

export interface Pairs {
  columns: string[];
  before: string[][];
  after: string[][];
  gone: string[];
  bags: string[]; // published beside the rows
}

interface Common {
  algorithm: string;
  seconds: number;
  received: number;
  rejected: number;
  reasons: Record<string, number>;
  released: number;
  rows: Pairs;
}

export interface WindowTrial extends Common {
  kind: "window";
  k: number;
  loss: number;
  attributes: { name: string; loss: number | null }[];
  published: number;
  fields: number;
  distributions: Record<string, Distribution>;
  suppressed: number;
  reused: number;
  groups: number;
  smallest: number | null;
  unit: "s" | "arrivals";
  deadline: number | null;
  longest: number | null;
  wait: number | null;
  waits: { edges: number[]; counts: number[] };
}

export interface FilterTrial extends Common {
  kind: "filter";
  z: number | null;
  generalized: number;
  withheld: number;
}

export type Trial = WindowTrial | FilterTrial;

export interface Attack {
  name: string;
  kind: string;
  knows: string;
  tried: number;
  success: number | null;
  baseline: number | null;
  bound: number | null;
  detail: string;
  obstacle: string;
  alert: boolean;
}

/** How often values are there, and how often they seem to be there in what left. */
export interface Distribution {
  edges: number[];
  labels: string[];
  before: number[];
  after?: number[];
}

/** A field of the sample: what it holds, and the share of persons it singles out. */
export interface Column {
  name: string;
  type: string;
  distinct: number;
  missing: number;
  alone: number;
  together: number;
  bars: Distribution;
}

/** A trial as a dot: what each attack gains, and what is lost. */
export interface Dot {
  attacks: { name: string; success: number; chance: number; gain: number }[];
  loss: number;
  queries: number | null;
  suppressed: number;
  quasi: number;
  colour: "green" | "amber" | "red";
  wait?: number | null;
}

export type Change = Partial<Record<"k" | "window" | "algorithm" | "nulls_match" | "l" | "generalize", string>>;

export interface Returning {
  success: number | null;
  chance: number | null;
  tried: number;
  obstacle: string;
}

/** The attack on persons who come back, with exact values and as the policy says. */
export interface Across {
  field: string;
  before: Returning | null;
  after: Returning | null;
}

/** The audit's verdict: one colour, one sentence, and how many rows are outside k. */
export interface Headline {
  colour: "green" | "amber" | "red";
  text: string;
  outside: string;
}

export interface Risk {
  held: boolean;
  verdict: Headline;
  point: Dot | null;
  promises: { name: string; says: string; verdict: string }[];
  attacks: Attack[];
}

export interface Point {
  window: number;
  k: number;
  wait: number;
  loss: number;
  suppressed: number;
}

export interface Compared {
  algorithm: string;
  unit: "s" | "arrivals";
  windows: Point[];
  ks: Point[];
  obstacle: string;
}

export interface Chances {
  k: number;
  confidence: number;
  window: number;
  observations: number;
  users: number;
  items: number;
  rows: { z: number; probability: number; measured: number; kept: number; silent: number }[];
  best: number;
  met: boolean;
}
