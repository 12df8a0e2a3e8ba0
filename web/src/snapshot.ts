/** What the server tells, event by event. */

export type Row = (number | null)[];

export interface Spread {
  edges: number[];
  recent: number[];
  total: number[];
  sum: number;
}

/** Waits by the clock of the machine; under windows of time with a deadline. */
export interface Wall extends Spread {
  deadline: number | null;
  tolerance: number;
  longest: number | null;
  ever: number | null;
}

export type Level = "info" | "amber" | "red";

export interface Entry {
  at: number;
  until: number;
  level: Level;
  text: string;
  times: number;
}

/** What the door stopped; what only came late left none the less. */
export function stopped(told: Snapshot): number {
  return Object.entries(told.faults).reduce((sum, [name, number]) => sum + (name === "late" ? 0 : number), 0);
}

export interface Snapshot {
  policy: {
    algorithm: string;
    kind: "count" | "time" | "buffer" | "filter";
    k: number;
    window: number;
    unit: "s" | "arrivals";
    deadline?: number | null;
    reuse_limit?: number;
    columns: string[];
    hidden: string[];
  };
  about: Partial<Record<"pipeline" | "source" | "sink", string>>;
  state: "starting" | "running" | "stopped";
  reason: string | null;
  begun: number;
  now: number;
  uptime: number;
  quiet: number | null;
  rates: Record<"in" | "out" | "groups" | "suppressed" | "rejected", number> & { loss: number | null };
  totals: Partial<Record<string, number>>;
  smallest_group: number | null;
  longest_wait: number | null;
  faults: Record<string, number>;
  reasons: Record<string, number>;
  new_fields: number;
  sizes: Partial<Record<string, number>>;
  waits?: Spread;
  groups?: Spread;
  wall: Wall | null;
  cores: number | null;
  memory: number;
  shares: { source: number | null; sink: number | null };
  links: Partial<Record<"source" | "sink", boolean | null>>;
  checks: Partial<Record<string, { level: Level; text: string }>>;
  log: { version: number; entries: Entry[] | null };
  attributes: { name: string; loss: number | null; shown: number | null }[];
  z: number | null;
  p_kanon: number | null;
  checkpoint: { age: number; count: number; seconds: number; bytes: number } | null;
  lag: number | null;
  history: { first: number; names: string[]; rows: Row[]; begun: number };
  losses: Row[];
  sample: { first: number; rows: string[][] };
}
