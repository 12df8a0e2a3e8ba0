/** The loss of each attribute: how much now, and how it went. */

import { make, write } from "./element";
import { NONE, percent } from "./format";
import { beginning, type Past } from "./past";
import type { Snapshot } from "./snapshot";

const WIDTH = 120;
const HEIGHT = 24;
const SVG = "http://www.w3.org/2000/svg";

interface Entry {
  value: HTMLElement;
  bar: HTMLElement;
  shown: HTMLElement;
  path: SVGPathElement;
}

export class Losses {
  readonly element: HTMLElement;
  private readonly entries: Entry[] = [];

  constructor(names: string[]) {
    const rows = names.map((name) => this.row(name));
    const head = ["attribute", "loss now", "", "how it went", "shown in"];
    this.element = make(
      "figure",
      { class: "card wide losses" },
      make("figcaption", {}, make("h2", {}, "Loss by attribute ", make("small", {}, "0 as it came, 1 all hidden"))),
      make(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Loss by attribute" },
        make(
          "table",
          {},
          make("thead", {}, make("tr", {}, ...head.map((text) => (text ? make("th", { scope: "col" }, text) : make("td"))))),
          make("tbody", {}, ...rows),
        ),
      ),
    );
  }

  draw(told: Snapshot, past: Past): void {
    told.attributes.forEach((attribute, place) => {
      const entry = this.entries[place];
      if (!entry) return;
      write(entry.value, attribute.loss == null ? NONE : attribute.loss.toFixed(2));
      entry.bar.style.width = `${100 * (attribute.loss ?? 0)}%`;
      write(entry.shown, attribute.shown == null ? NONE : percent(attribute.shown));
      entry.path.setAttribute("d", path(past, past.loss(place)));
    });
  }

  private row(name: string): HTMLElement {
    const value = make("td", { class: "number" }, NONE);
    const shown = make("td", { class: "number" }, NONE);
    const bar = make("span", { class: "fill" });
    const line = document.createElementNS(SVG, "svg");
    line.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    line.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(SVG, "path");
    line.append(path);
    this.entries.push({ value, bar, shown, path });
    const cells = [value, make("td", {}, make("span", { class: "bar", "aria-hidden": "true" }, bar)), make("td", {}, line), shown];
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }
}

function path({ span, time }: Past, values: (number | null)[]): string {
  const last = time.at(-1) ?? 0;
  const first = beginning(span, time[0] ?? 0, last);
  let told = "";
  let pen = "M";
  values.forEach((value, n) => {
    if (value == null) return;
    const x = (WIDTH * ((time[n] ?? 0) - first)) / (last - first);
    told += `${pen}${x.toFixed(1)} ${(HEIGHT - 2 - value * (HEIGHT - 4)).toFixed(1)}`;
    pen = "L";
  });
  return told;
}
