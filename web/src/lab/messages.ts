/** What the check says, beside what it concerns. */

import { make } from "../element";
import type { Message } from "./model";

/** Show each where it belongs: at its field, at its part of the policy, or at the end. */
export function show(messages: Message[]): void {
  for (const old of document.querySelectorAll(".said > li")) old.remove();
  for (const marked of document.querySelectorAll("[aria-invalid]")) {
    marked.removeAttribute("aria-invalid");
    marked.removeAttribute("aria-describedby");
  }
  for (const message of messages) {
    const place = found(message);
    const list = place?.querySelector<HTMLElement>(":scope > .said") ?? last();
    list?.append(make("li", { "data-kind": message.kind }, message.text));
    if (message.kind === "warning" || !place || !list) continue;
    const inputs = message.part ? place.querySelectorAll<HTMLElement>(`[data-part="${CSS.escape(message.part)}"] :is(input, textarea)`) : [];
    const own = place.dataset.part ? place.querySelectorAll<HTMLElement>("input:not([type=range]), select, textarea") : [];
    for (const input of [...inputs, ...own]) {
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", list.id);
      const folded = input.closest("details");
      if (folded) folded.open = true;
    }
  }
}

function found({ field, part }: Message): HTMLElement | null {
  if (field) return document.querySelector(`[data-field="${CSS.escape(field)}"]`);
  for (let name = part; name; name = name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "") {
    const place = [...document.querySelectorAll<HTMLElement>(`[data-part="${CSS.escape(name)}"]`)].find((each) => each.querySelector(":scope > .said"));
    if (place) return place;
  }
  return null;
}

function last(): HTMLElement | null {
  return document.querySelector('[data-part="*"] > .said');
}
