/** The last minutes, in arrays that never get longer. */

import type { Row, Snapshot } from "./snapshot";

export const SECONDS = 300;
const FEWEST = 60;

/** The first moment to draw: that of the first row, but at least a minute ago. */
export function beginning(first: number, last: number): number {
  return Math.max(last - SECONDS, Math.min(first, last - FEWEST));
}

export class Past {
  readonly time: number[] = [];
  private readonly columns = new Map<string, (number | null)[]>();
  private losses: (number | null)[][] = [];
  private next = 0;
  private begun = 0;

  /** Take in the rows that are new; whether there are any. */
  take(told: Snapshot): boolean {
    if (told.begun !== this.begun) this.forget(told);
    const { first, rows, names } = told.history;
    const skipped = Math.max(0, this.next - first);
    for (let n = skipped; n < rows.length; n++) {
      this.append(this.time, told.begun + first + n);
      names.forEach((name, place) => this.append(this.of(name), (rows[n] as Row)[place] ?? null));
      this.losses.forEach((column, place) => this.append(column, told.losses[n]?.[place] ?? null));
    }
    this.next = Math.max(this.next, first + rows.length);
    return rows.length > skipped;
  }

  of(name: string): (number | null)[] {
    let column = this.columns.get(name);
    if (!column) this.columns.set(name, (column = []));
    return column;
  }

  loss(place: number): (number | null)[] {
    return this.losses[place] ?? [];
  }

  private append<T>(column: T[], value: T): void {
    column.push(value);
    if (column.length > SECONDS) column.shift();
  }

  private forget(told: Snapshot): void {
    this.begun = told.begun;
    this.next = 0;
    this.time.length = 0;
    this.columns.clear();
    this.losses = told.attributes.map(() => []);
  }
}
