/** The fields of the records, each with its role and what the role needs. */

import { make, write } from "../element";
import { count, percent } from "../format";
import { blocks, propose, Refused } from "./api";
import { choice, said, text, tick } from "./control";
import { help } from "./help";
import { HierarchyBox } from "./hierarchy";
import { histogram } from "./histogram";
import { type Column, type Distribution, type Entry, noted, type Role, type Sheet } from "./model";

const ROLES: [string, [Role, string][]][] = [
  ["generalize", [["numeric", "number"], ["categorical", "category"]]],
  ["publish as it is", [["sensitive", "sensitive"], ["keep", "keep"]]],
  ["do not publish", [["omit", "leave out"]]],
];
const NAMES: Record<string, string> = { person: "tells persons apart; never published", time: "the time", item: "the item" };

const MANY = 8; // fields that are found without a search
const LAZY = 40; // beyond, fields are laid out when they come into view
const FILTERS: [string, string][] = [["", "all fields"], ["quasi", "generalized"], ["plain", "published as they are"], ["omit", "left out"], ["said", "with messages"]];

interface Shown {
  row: HTMLElement;
  bar: HTMLElement;
  value: HTMLElement;
  facts: HTMLElement;
  picture: HTMLElement;
}

export class Fields {
  private readonly bars = new Map<string, Shown>();
  private columns = new Map<string, Column>();
  private after: Record<string, Distribution> = {};
  private readonly number = make("span", { class: "muted", role: "status", id: "fields-shown" });
  private sheet?: Sheet;
  private sought = "";
  private filter = "";

  constructor(private readonly place: HTMLElement) {}

  draw(sheet: Sheet, changed: () => void): void {
    this.bars.clear();
    this.sheet = sheet;
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
      make("div", { class: "heading" }, make("h2", {}, "Fields ", make("small", {}, "what is left out does not leave")), help("fields")),
      ...(sheet.fields.length > MANY ? [this.tools(sheet, changed)] : []),
      make("div", { "data-part": "attributes", class: "above" }, said()),
      make("div", { class: sheet.fields.length > LAZY ? "fields many" : "fields" }, ...sheet.fields.map((entry) => this.row(entry, sheet, changed))),
      further,
      make("div", { "data-part": "*" }, said()),
    );
    for (const name of this.bars.keys()) this.picture(name);
    this.sift();
  }

  /** Search, filter, and one role for all that are shown. */
  private tools(sheet: Sheet, changed: () => void): HTMLElement {
    const search = make("input", { type: "search", id: "search-fields", placeholder: "search", "aria-label": "Search fields" });
    search.value = this.sought;
    search.addEventListener("input", () => {
      this.sought = search.value;
      this.sift();
    });
    const filter = choice(this.filter, FILTERS, (value) => {
      this.filter = value;
      this.sift();
    }, { "aria-label": "Which fields are shown", id: "filter-fields" });
    const roles: [string, string | [string, string][]][] = [["", "set the role of those shown …"], ...(sheet.algorithm === "zanon" ? ROLES.slice(1) : ROLES)];
    const bulk = choice("", roles, (value) => void this.turnAll(value as Role, sheet, changed), { "aria-label": "Role of all fields that are shown", id: "bulk-role" });
    return make("div", { class: "together tools" }, search, filter, bulk, this.number);
  }

  /** Show the fields that fit the search and the filter. */
  private sift(): void {
    const word = this.sought.toLowerCase();
    let shown = 0;
    for (const [name, { row }] of this.bars) {
      const role = row.dataset.role ?? "";
      const fits = { "": true, quasi: role === "numeric" || role === "categorical", plain: role === "sensitive" || role === "keep", omit: role === "omit", said: row.querySelector(".said > li") != null }[this.filter];
      row.hidden = !(fits && name.toLowerCase().includes(word));
      shown += Number(!row.hidden);
    }
    write(this.number, shown === this.bars.size ? `${count(shown)} fields` : `${count(shown)} of ${count(this.bars.size)} fields`);
  }

  private async turnAll(role: Role, sheet: Sheet, changed: () => void): Promise<void> {
    if (!role) return;
    const chosen = sheet.fields.filter((entry) => this.bars.get(entry.name)?.row.hidden === false && !this.taken(entry, sheet));
    const obstacles = new Map<string, string>();
    for (const entry of chosen) {
      const obstacle = await this.prepare(entry, role);
      if (obstacle) obstacles.set(entry.name, obstacle);
    }
    this.draw(sheet, changed);
    for (const [name, obstacle] of obstacles) this.bars.get(name)?.row.querySelector(".said")?.append(make("li", { "data-kind": "problem" }, obstacle));
    changed();
  }

  /** What the fields hold, and how well they tell persons apart. */
  profile(found: Column[]): void {
    this.columns = new Map(found.map((column) => [column.name, column]));
    for (const name of this.bars.keys()) this.picture(name);
  }

  private picture(name: string): void {
    const shown = this.bars.get(name);
    const column = this.columns.get(name);
    if (!shown || !column) return;
    const missing = column.missing ? `, ${percent(column.missing)} missing` : "";
    write(shown.facts, `${column.type}, ${count(column.distinct)} ${column.distinct === 1 ? "value" : "values"}${missing}; singles out ${percent(column.alone)} of the persons alone, ${percent(column.together)} with the quasi-identifiers`);
    shown.picture.replaceChildren(histogram(name, this.after[name] ?? column.bars));
  }

  /** The loss of each, after a trial, and how its values seem to be distributed then. */
  losses(found: { name: string; loss: number | null }[], after: Record<string, Distribution> = {}): void {
    this.after = after;
    for (const name of this.bars.keys()) this.picture(name);
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
    const taken = this.taken(entry, sheet);
    const row = make("div", { class: "field", "data-field": entry.name, "data-role": taken || entry.role, role: "group", "aria-label": entry.name });
    const name = make("span", { class: "name" }, entry.name);
    const notes = said();
    const fill = make("span", { class: "fill" });
    const value = make("span", { class: "value" });
    const facts = make("small", { class: "facts muted" });
    const picture = make("span", { class: "picture" });
    this.bars.set(entry.name, { row, bar: fill, value, facts, picture });
    const loss = make("span", { class: "loss" }, make("span", { class: "bar", "aria-hidden": "true" }, fill), make("span", { class: "unseen" }, "loss "), value);
    if (taken) {
      row.append(make("div", { class: "line" }, name, make("span", { class: "taken muted" }, taken === "person" && sheet.algorithm === "zanon" ? "the user; published under a pseudonym" : (NAMES[taken] ?? ""))), make("div", { class: "column" }, picture, facts), notes);
      return row;
    }
    const groups = sheet.algorithm === "zanon" ? ROLES.slice(1) : ROLES;
    const shown = groups.some(([, roles]) => roles.some(([role]) => role === entry.role)) ? entry.role : "omit";
    const role = choice(shown, groups, (picked) => void this.turn(entry, picked as Role, row, sheet, changed), { "aria-label": `Role of ${entry.name}` });
    const quasi = shown === "numeric" || shown === "categorical";
    if (shown === "numeric" && noted(entry)) name.append(make("small", { class: "muted" }, entry.note));
    row.dataset.role = shown;
    row.append(make("div", { class: "line" }, name, role, this.inside(entry, shown, changed), ...(quasi ? [loss] : [])), make("div", { class: "column" }, picture, facts));
    if (shown === "categorical") row.append(new HierarchyBox(entry, changed).element);
    row.append(notes);
    return row;
  }

  private taken(entry: Entry, sheet: Sheet): string {
    return sheet.person === entry.name ? "person" : sheet.time === entry.name ? "time" : sheet.algorithm === "zanon" && sheet.item === entry.name ? "item" : "";
  }

  /** Give a field a role, with what that needs from the sample; what stands against it. */
  private async prepare(entry: Entry, role: Role): Promise<string> {
    const bare = role === "numeric" ? !entry.low && !entry.high : role === "categorical" && !entry.tree && !entry.builder;
    entry.role = role;
    if (!bare) return "";
    try {
      const { low, high, grid, tree, lenient } = await propose(entry.name, role);
      Object.assign(entry, role === "numeric" ? { low, high, grid } : { tree, lenient });
    } catch (error) {
      if (error instanceof Refused) return error.message;
    }
    return "";
  }

  private async turn(entry: Entry, role: Role, row: HTMLElement, sheet: Sheet, changed: () => void): Promise<void> {
    const obstacle = await this.prepare(entry, role);
    const fresh = this.row(entry, sheet, changed);
    row.replaceWith(fresh);
    this.picture(entry.name);
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
        help("grid"),
        this.weight(entry, changed),
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
        this.sets(entry, changed),
        this.weight(entry, changed),
      );
    } else if (role === "sensitive") {
      box.append(this.stable(entry, changed));
    } else if (noted(entry)) {
      box.append(make("p", { class: "hint muted" }, entry.note.replace(/^(['"]).*?\1 is left out: (.)/, (_, __, first: string) => first.toUpperCase())));
    }
    return box;
  }

  private weight(entry: Entry, changed: () => void): HTMLElement {
    const weight = text(entry.weight, (value) => {
      entry.weight = value;
      changed();
    }, { inputmode: "decimal", placeholder: "1", "aria-label": `weight of ${entry.name}`, title: "How much it counts in losses and distances: the more, the finer it is kept." });
    return make("span", { class: "with-help", "data-part": "weights" }, make("label", {}, "weight", weight), help("weights"));
  }

  /** How a group shows what its members have. */
  private sets(entry: Entry, changed: () => void): HTMLElement {
    const most = text(entry.most, (value) => {
      entry.most = value;
      changed();
    }, { inputmode: "numeric", placeholder: "any", "aria-label": `most values of a set of ${entry.name}` });
    const bound = make("label", {}, "at most", most);
    bound.hidden = entry.generalize !== "set";
    const shown = choice(entry.generalize, [["", "default"], ["node", "the node above them"], ["set", "the set of its values"]], (value) => {
      entry.generalize = value as Entry["generalize"];
      bound.hidden = value !== "set";
      changed();
    }, { "aria-label": `What a group shows of ${entry.name}`, title: "A set loses less than the node above it, and tells no more than an interval does." });
    return make("span", { class: "with-help", "data-part": "generalize" }, make("label", {}, "a group shows", shown), bound, help("sets"));
  }

  /** A value that hardly changes for a person, and what is published of it. */
  private stable(entry: Entry, changed: () => void): HTMLElement {
    const area = make("textarea", { rows: "4", spellcheck: "false", "aria-label": `Blocks of ${entry.name}, one per line, values between commas` });
    area.value = entry.blocks;
    area.addEventListener("input", () => {
      entry.blocks = area.value;
      changed();
    });
    const note = make("p", { class: "hint muted", role: "status" }, "One block per line, values between commas. All that is ever learnt of a person is the block; never cut blocks anew.");
    const drafting = make("button", { type: "button" }, "Draft blocks");
    drafting.addEventListener("click", async () => {
      try {
        const found = await blocks(entry.name, this.sheet?.person ?? "", Math.max(2, Number(this.sheet?.across) || 3));
        area.value = entry.blocks = found.blocks;
        write(note, `Keeps ${percent(Math.max(0, found.kept))} of the information; the most frequent value of a block is right in ${percent(found.guess)}.${found.rare ? ` ${count(found.rare)} rare values are not listed.` : ""}`);
        changed();
      } catch (error) {
        write(note, error instanceof Error ? error.message : "No blocks could be drafted.");
      }
    });
    const cut = make("div", { class: "blocks", "data-part": "blocks" }, area, make("div", { class: "together" }, drafting, note));
    const shown = choice(entry.shown, [["", "default"], ["block", "as its block"], ["bag", "in bags beside the rows"], ["exact", "exactly"]], (value) => {
      entry.shown = value as Entry["shown"];
      arrange();
      changed();
    }, { "aria-label": `How ${entry.name} is published` });
    const how = make("label", {}, "published", shown);
    const arrange = () => {
      how.hidden = !entry.stable;
      cut.hidden = !entry.stable || (entry.shown !== "" && entry.shown !== "block");
    };
    const on = tick("stable: hardly changes for a person", entry.stable, (is) => {
      entry.stable = is;
      arrange();
      changed();
    });
    arrange();
    return make("div", { class: "stable", "data-part": "stable" }, make("span", { class: "with-help" }, on, help("stable")), how, cut);
  }
}
