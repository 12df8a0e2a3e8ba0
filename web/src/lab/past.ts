/** Undo and redo: sheets as texts, so that a step back is exactly what was there. */

const MOST = 50; // steps
const LARGEST = 4_000_000; // characters of all steps

export interface Steps {
  past: string[];
  future: string[];
}

export class Past {
  private now: string;

  constructor(sheet: unknown, private readonly steps: Steps = { past: [], future: [] }) {
    this.now = JSON.stringify(sheet);
  }

  /** The sheet is like this now; whether that is a step. */
  note(sheet: unknown): boolean {
    const text = JSON.stringify(sheet);
    if (text === this.now) return false;
    this.steps.past.push(this.now);
    this.steps.future.length = 0;
    this.now = text;
    const { past } = this.steps;
    while (past.length > MOST || past.reduce((size, each) => size + each.length, 0) > LARGEST) past.shift();
    return true;
  }

  /** The sheet before the last step, or after it again. */
  go<T>(back: boolean): T | undefined {
    const { past, future } = this.steps;
    const found = (back ? past : future).pop();
    if (found == null) return undefined;
    (back ? future : past).push(this.now);
    this.now = found;
    return JSON.parse(found) as T;
  }

  can(back: boolean): boolean {
    return (back ? this.steps.past : this.steps.future).length > 0;
  }

  toJSON(): Steps {
    return this.steps;
  }
}
