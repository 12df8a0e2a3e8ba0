/** How a CSV is written: found out from its beginning, and corrected here. */

import { make } from "../element";
import { choice, labelled } from "./control";
import type { Reading, Taken } from "./model";

const SEPARATORS: [string, string][] = [[",", "comma ,"], [";", "semicolon ;"], ["\t", "tab"], ["|", "bar |"]];
const ENCODINGS: [string, string][] = [["utf-8", "UTF-8"], ["utf-16", "UTF-16"], ["cp1252", "Windows-1252"], ["latin-1", "Latin-1"]];
const DECIMALS: [string, string][] = [[".", "point 1.5"], [",", "comma 1,5"]];
const THOUSANDS: [string, string][] = [["", "none 1234"], [",", "comma 1,234"], [".", "point 1.234"], [" ", "space 1 234"], ["'", "apostrophe 1'234"]];

/** Draw the boxes; `read` asks for the file to be read so. Marks of numbers are found out anew if the rest changes. */
export function drawReading(place: HTMLElement, { reading, written }: Taken, read: (given: Partial<Reading>) => void): void {
  place.hidden = reading == null;
  if (!reading) return place.replaceChildren();
  const { separator, encoding } = reading;
  const box = (label: string, options: [string, string][], value: string, given: (value: string) => Partial<Reading>) =>
    labelled(label, choice(value, options, (chosen) => read(given(chosen))), "input");
  place.replaceChildren(
    make("h2", {}, "How the file is written"),
    make(
      "div",
      { class: "grid" },
      box("Between fields", SEPARATORS, separator, (value) => ({ encoding, separator: value })),
      box("Encoding", ENCODINGS, encoding, (value) => ({ separator, encoding: value })),
      box("Decimal mark", DECIMALS, reading.decimal, (value) => ({ separator, encoding, decimal: value, ...(reading.thousands === value ? { thousands: "" } : { thousands: reading.thousands }) })),
      box("Between thousands", THOUSANDS, reading.thousands, (value) => ({ separator, encoding, decimal: reading.decimal, thousands: value })),
    ),
    make("p", { class: "hint muted" }, `Found: ${written}.`),
  );
}
