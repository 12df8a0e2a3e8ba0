/** The last minutes, hour or day, in arrays that never get longer. */

import type { Row, Snapshot } from "./snapshot";

export type Span = "minutes" | "hour" | "day";

export const SECONDS: Record<Span, number> = { minutes: 300, hour: 3600, day: 86_400 };
export const NAMES: Record<Span, string> = { minutes: "5 minutes", hour: "Hour", day: "Day" };
const FEWEST = 60;

/** What charts draw. */
export interface Past {
  readonly span: Span;
  readonly time: number[];
  of(name: string): Row;
  loss(place: number): Row;
}

/** The first moment to draw: that of the first row, but at least a minute ago. */
export function beginning(span: Span, first: number, last: number): number {
  return Math.max(last - SECONDS[span], Math.min(first, last - FEWEST));
}

/** The last five minutes, row by row. */
export class Minutes implements Past {
  readonly span = "minutes";
  readonly time: number[] = [];
  private readonly columns = new Map<string, Row>();
  private losses: Row[] = [];
  private next = 0;
  private begun = 0;

  /** Take in the rows that are new; whether there are any. */
  take(told: Snapshot): boolean {
    if (told.begun !== this.begun) this.forget(told);
    const { first, rows, names, begun } = told.history;
    const skipped = Math.max(0, this.next - first);
    for (let n = skipped; n < rows.length; n++) {
      this.append(this.time, begun + first + n);
      names.forEach((name, place) => this.append(this.of(name), (rows[n] as Row)[place] ?? null));
      this.losses.forEach((column, place) => this.append(column, told.losses[n]?.[place] ?? null));
    }
    this.next = Math.max(this.next, first + rows.length);
    return rows.length > skipped;
  }

  of(name: string): Row {
    let column = this.columns.get(name);
    if (!column) this.columns.set(name, (column = []));
    return column;
  }

  loss(place: number): Row {
    return this.losses[place] ?? [];
  }

  private append<T>(column: T[], value: T): void {
    column.push(value);
    if (column.length > SECONDS.minutes) column.shift();
  }

  private forget(told: Snapshot): void {
    this.begun = told.begun;
    this.next = 0;
    this.time.length = 0;
    this.columns.clear();
    this.losses = told.attributes.map(() => []);
  }
}

interface Told {
  step: number;
  begun: number;
  names: string[];
  rows: Row[];
  losses: Row[];
}

/** An hour or a day, as the server tells it; the same for the rows of whoever is not there. */
export class Longer implements Past {
  readonly time: number[];

  private constructor(readonly span: Span, private readonly told: Told) {
    this.time = told.rows.map((_, n) => told.begun + told.step * n);
  }

  static async ask(span: "hour" | "day"): Promise<Longer | undefined> {
    try {
      const answer = await fetch(`/api/history?span=${span}`);
      return answer.ok ? new Longer(span, (await answer.json()) as Told) : undefined;
    } catch {
      return undefined;
    }
  }

  of(name: string): Row {
    const place = this.told.names.indexOf(name);
    return this.told.rows.map((row) => row[place] ?? null);
  }

  loss(place: number): Row {
    return this.told.losses.map((row) => row[place] ?? null);
  }
}
