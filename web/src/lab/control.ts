/** Inputs with a label, and room below for what is said about them. */

import { make } from "../element";
import { help } from "./help";

let number = 0;

export interface Control {
  element: HTMLElement;
  input: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
}

/** A label above an input; `part` is what messages call it. */
export function labelled(text: string, input: Control["input"], part: string, hint = "", beside: Node[] = [], below?: Node, term = ""): HTMLElement {
  input.id ||= `input-${++number}`;
  const label = make("label", { for: input.id }, text);
  const row = beside.length ? [make("div", { class: "together" }, input, ...beside)] : [input];
  const small = hint ? [make("p", { class: "hint muted" }, hint)] : [];
  const top = term ? make("div", { class: "term" }, label, help(term)) : label;
  return make("div", { class: "control", "data-part": part }, top, ...row, ...(below ? [below] : []), ...small, said());
}

/** Where messages are shown. */
export function said(): HTMLElement {
  return make("ul", { class: "said", id: `said-${++number}` });
}

export function text(value: string, changed: (value: string) => void, attributes: Record<string, string> = {}): HTMLInputElement {
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
  input.value = value;
  input.addEventListener("input", () => changed(input.value));
  return input;
}

type Options = [string, string | [string, string][]][];

/** A choice among options, or among groups of them. */
export function choice(value: string, options: Options, changed: (value: string) => void, attributes: Record<string, string> = {}): HTMLSelectElement {
  const option = ([key, name]: [string, string]) => make("option", { value: key }, name);
  const entry = ([key, name]: Options[number]) => (typeof name === "string" ? option([key, name]) : make("optgroup", { label: key }, ...name.map(option)));
  const select = make("select", attributes, ...options.map(entry));
  select.value = value;
  select.addEventListener("change", () => changed(select.value));
  return select;
}

export function tick(label: string, on: boolean, changed: (on: boolean) => void): HTMLElement {
  const box = make("input", { type: "checkbox" });
  box.checked = on;
  box.addEventListener("change", () => changed(box.checked));
  return make("label", { class: "tick" }, box, label);
}

/** A slider over steps beside a number that may be anything. */
export function sliding(name: string, value: string, steps: number[], changed: (value: string) => void): { input: HTMLInputElement; slider: HTMLInputElement; show(value: string): void } {
  const slider = make("input", { type: "range", min: "0", max: String(steps.length - 1), step: "1", "aria-label": `${name}, slider` });
  const place = (text: string) => {
    const at = Number(text);
    const nearest = steps.reduce((best, step, n) => (Math.abs(step - at) < Math.abs((steps[best] ?? 0) - at) ? n : best), 0);
    slider.value = String(Number.isFinite(at) ? nearest : 0);
    slider.setAttribute("aria-valuetext", text);
  };
  const input = text(value, (typed) => {
    place(typed);
    changed(typed);
  }, { inputmode: "numeric", class: "figure" });
  slider.addEventListener("input", () => {
    input.value = String(steps[Number(slider.value)]);
    slider.setAttribute("aria-valuetext", input.value);
    changed(input.value);
  });
  place(value);
  return {
    input,
    slider,
    show(shown: string) {
      input.value = shown;
      place(shown);
    },
  };
}
