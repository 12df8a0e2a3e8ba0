/** The fields of the records, each with its role and what the role needs. */

import { make, write } from "../element";
import { hierarchy, propose, Refused } from "./api";
import { choice, said, text, tick } from "./control";
import type { Entry, Role, Sheet } from "./model";

const ROLES: [string, [Role, string][]][] = [
  ["generalize", [["numeric", "number"], ["categorical", "category"]]],
  ["publish as it is", [["sensitive", "sensitive"], ["keep", "keep"]]],
  ["do not publish", [["omit", "leave out"]]],
];
const NAMES: Record<string, string> = { person: "tells persons apart; never published", time: "the time", item: "the item" };

export class Fields {
  private readonly bars = new Map<string, { bar: HTMLElement; value: HTMLElement }>();

  constructor(private readonly place: HTMLElement) {}

  draw(sheet: Sheet, changed: () => void): void {
    this.bars.clear();
    const more = make("textarea", { rows: "3", spellcheck: "false", id: "more", placeholder: "privacy: {l: 2}" });
    more.value = sheet.more;
    more.addEventListener("input", () => {
      sheet.more = more.value;
      changed();
    });
    const further = make(
      "details",
      { class: "further", "data-part": "more" },
      make("summary", {}, "Further settings"),
      make("label", { for: "more" }, "Whatever else a policy can say, as YAML"),
      more,
      said(),
    );
    further.open = Boolean(sheet.more);
    this.place.replaceChildren(
      make("h2", {}, "Fields ", make("small", {}, "what is left out does not leave")),
      make("div", { "data-part": "attributes", class: "above" }, said()),
      make("div", { class: "fields" }, ...sheet.fields.map((entry) => this.row(entry, sheet, changed))),
      further,
      make("div", { "data-part": "*" }, said()),
    );
  }

  /** The loss of each, after a trial. */
  losses(found: { name: string; loss: number | null }[]): void {
    for (const { bar, value } of this.bars.values()) {
      bar.style.width = "0";
      write(value, "");
    }
    for (const { name, loss } of found) {
      const entry = this.bars.get(name);
      if (!entry || loss == null) continue;
      entry.bar.style.width = `${100 * loss}%`;
      write(entry.value, loss.toFixed(2));
    }
  }

  private row(entry: Entry, sheet: Sheet, changed: () => void): HTMLElement {
    const taken = sheet.person === entry.name ? "person" : sheet.time === entry.name ? "time" : sheet.algorithm === "zanon" && sheet.item === entry.name ? "item" : "";
    const row = make("div", { class: "field", "data-field": entry.name, "data-role": taken || entry.role, role: "group", "aria-label": entry.name });
    const name = make("span", { class: "name" }, entry.name);
    const notes = said();
    const fill = make("span", { class: "fill" });
    const value = make("span", { class: "value" });
    this.bars.set(entry.name, { bar: fill, value });
    const loss = make("span", { class: "loss" }, make("span", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "unseen" }, "loss "), value);
    if (taken) {
      row.append(make("div", { class: "line" }, name, make("span", { class: "taken muted" }, taken === "person" && sheet.algorithm === "zanon" ? "the user; published under a pseudonym" : (NAMES[taken] ?? ""))), notes);
      return row;
    }
    const groups = sheet.algorithm === "zanon" ? ROLES.slice(1) : ROLES;
    const shown = groups.some(([, roles]) => roles.some(([role]) => role === entry.role)) ? entry.role : "omit";
    const role = choice(shown, groups, (picked) => void this.turn(entry, picked as Role, row, sheet, changed), { "aria-label": `Role of ${entry.name}` });
    const quasi = shown === "numeric" || shown === "categorical";
    if (shown === "numeric" && entry.note) name.append(make("small", { class: "muted" }, entry.note));
    row.dataset.role = shown;
    row.append(make("div", { class: "line" }, name, role, this.inside(entry, shown, changed), ...(quasi ? [loss] : [])));
    if (shown === "categorical") row.append(this.tree(entry, changed));
    row.append(notes);
    return row;
  }

  private async turn(entry: Entry, role: Role, row: HTMLElement, sheet: Sheet, changed: () => void): Promise<void> {
    const bare = role === "numeric" ? !entry.low && !entry.high : role === "categorical" && !entry.tree;
    entry.role = role;
    let obstacle = "";
    if (bare) {
      try {
        const { low, high, grid, tree, lenient } = await propose(entry.name, role);
        Object.assign(entry, role === "numeric" ? { low, high, grid } : { tree, lenient });
      } catch (error) {
        if (error instanceof Refused) obstacle = error.message;
      }
    }
    const fresh = this.row(entry, sheet, changed);
    row.replaceWith(fresh);
    fresh.querySelector("select")?.focus();
    if (obstacle) fresh.querySelector(".said")?.append(make("li", { "data-kind": "problem", "data-own": "" }, obstacle));
    changed();
  }

  private inside(entry: Entry, role: Role, changed: () => void): HTMLElement {
    const box = make("div", { class: "inside" });
    if (role === "numeric") {
      const end = (key: "low" | "high" | "grid", label: string, part: string) =>
        make("label", { "data-part": part }, label, text(entry[key], (value) => {
          entry[key] = value;
          changed();
        }, { inputmode: "decimal", "aria-label": `${label} of ${entry.name}` }));
      box.append(
        end("low", "from", "range"),
        end("high", "to", "range"),
        end("grid", "grid", "grid"),
        tick("clip", entry.clip, (on) => {
          entry.clip = on;
          changed();
        }),
      );
    } else if (role === "categorical") {
      box.append(
        tick("unknown values as the root", entry.lenient, (on) => {
          entry.lenient = on;
          changed();
        }),
      );
    } else if (entry.note) {
      box.append(make("p", { class: "hint muted" }, entry.note.replace(/^(['"]).*?\1 is left out: (.)/, (_, __, first: string) => first.toUpperCase())));
    }
    return box;
  }

  private tree(entry: Entry, changed: () => void): HTMLElement {
    const area = make("textarea", { rows: "10", spellcheck: "false", "aria-label": `Hierarchy of ${entry.name}, a label a line, indented` });
    const size = make("small", { class: "muted" });
    const count = () => write(size, `${entry.tree.split("\n").filter((line) => line.trim()).length} labels`);
    area.value = entry.tree;
    area.addEventListener("input", () => {
      entry.tree = area.value;
      count();
      changed();
    });
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      const before = area.value.slice(0, area.selectionStart);
      const indent = /[ \t]*$/.exec(before.slice(before.lastIndexOf("\n") + 1).replace(/\S.*$/, ""))?.[0] ?? "";
      event.preventDefault();
      area.setRangeText(`\n${indent}`, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input"));
    });
    count();
    const note = entry.note ? [make("small", { class: "muted" }, ` · ${entry.note}`)] : [];
    const help = make("p", { class: "hint muted" }, "One label per line; indent what lies below it. Groups between root and leaves lose less than the root. A file has one line per leaf, from leaf to root, with semicolons.");
    const file = make("input", { type: "file", accept: ".csv", "aria-label": `File with the hierarchy of ${entry.name}` });
    file.addEventListener("change", async () => {
      const chosen = file.files?.[0];
      if (!chosen) return;
      try {
        area.value = await hierarchy(chosen);
        area.dispatchEvent(new Event("input"));
      } catch (error) {
        box.parentElement?.querySelector(".said")?.append(make("li", { "data-kind": "problem" }, error instanceof Error ? error.message : "The file could not be read."));
      }
      file.value = "";
    });
    const load = make("label", { class: "choose small" }, file, make("span", {}, "From a file …"));
    const box = make("details", { class: "tree", "data-part": "hierarchy" }, make("summary", {}, "Hierarchy ", size, ...note), area, make("div", { class: "together" }, load, help));
    box.open = !entry.tree;
    return box;
  }
}
