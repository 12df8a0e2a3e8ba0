/** What the lab's server gives and takes. */

export type Role = "numeric" | "categorical" | "sensitive" | "keep" | "omit";

export interface Entry {
  name: string;
  role: Role;
  low: string;
  high: string;
  grid: string;
  clip: boolean;
  tree: string;
  lenient: boolean;
  note: string;
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
  item: string;
  z: string;
  span: string;
  fields: Entry[];
  more: string;
}

export interface Taken {
  name: string;
  rows: number;
  malformed: number;
  complete: boolean;
  fields: string[];
  about: string;
  written: string;
  reading: Reading | null;
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
  knows: string;
  tried: number;
  success: number | null;
  baseline: number | null;
  detail: string;
  obstacle: string;
  alert: boolean;
}

export interface Risk {
  held: boolean;
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
