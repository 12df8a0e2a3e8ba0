/** A "?" beside a term, which opens the page of the documents at the right place. */

import { marked } from "marked";

import { make, write } from "../element";

/** Which section of which page explains a term. */
export const PAGES: Record<string, [page: string, heading: string]> = {
  k: ["choosing", "Which k"],
  window: ["choosing", "Which window"],
  algorithm: ["choosing", "Which algorithm"],
  l: ["stronger", "Diversity and closeness"],
  t: ["stronger", "Diversity and closeness"],
  across: ["across", "The remedy"],
  stable: ["policy", "Stable attributes"],
  nulls: ["audit", "Readings of nulls"],
  suppressed: ["policy", "suppressed"],
  accept: ["audit", "2. What can an outsider still do?"],
  weights: ["stronger", "Weights"],
  grid: ["policy", "grid"],
  sets: ["policy", "Sets"],
  hierarchy: ["policy", "Hierarchies"],
  person: ["policy", "person"],
  time: ["policy", "time"],
  fields: ["policy", "attributes"],
  columns: ["choosing", "Which quasi-identifiers"],
  loss: ["audit-figures", "Utility"],
  attacks: ["audit-figures", "Attacks"],
  frontier: ["lab", "The frontier"],
  z: ["model", "Planning"],
};

const WORDS: Record<string, string> = { nulls: "the reading of nulls", columns: "how identifying a field is", frontier: "risk against loss", fields: "roles of fields" };

export function help(term: string): HTMLButtonElement {
  const name = WORDS[term] ?? term;
  const button = make("button", { type: "button", class: "help", "aria-label": `What is ${name}? Opens the documents` }, "?");
  button.addEventListener("click", () => void open(...(PAGES[term] ?? ["lab", ""])));
  return button;
}

let dialog: HTMLDialogElement | undefined;

async function open(page: string, heading: string): Promise<void> {
  const title = make("h2", { id: "help-title" }, "The documents");
  const body = make("div", { class: "document", tabindex: "0", role: "region", "aria-labelledby": "help-title" });
  const close = make("button", { type: "button" }, "Close");
  dialog?.remove();
  const shown = (dialog = make("dialog", { class: "help", "aria-labelledby": "help-title" }, make("div", { class: "heading" }, title, close), body));
  close.addEventListener("click", () => shown.close());
  shown.addEventListener("close", () => shown.remove());
  shown.addEventListener("click", (event) => event.target === shown && shown.close());
  document.body.append(shown);
  shown.showModal();
  write(body, "…");
  const answer = await fetch(`/api/document/${page}`).catch(() => undefined);
  if (!answer?.ok) return write(body, "This page of the documents cannot be read; is the lab still open?");
  const rendered = new DOMParser().parseFromString(await marked(await answer.text()), "text/html");
  for (const image of rendered.querySelectorAll("img")) image.replaceWith(image.alt);
  body.replaceChildren(...rendered.body.childNodes);
  for (const link of body.querySelectorAll("a")) follow(link, page);
  find(body, (text) => text === heading);
  body.focus({ preventScroll: true });
}

/** A link of a page leads to another page in the same place; elsewhere it opens a tab. */
function follow(link: HTMLAnchorElement, page: string): void {
  const [, file = "", anchor = ""] = /^(?:([\w-]+)\.md)?(?:#(.*))?$/.exec(link.getAttribute("href") ?? "") ?? [];
  if (!file && !anchor) {
    if (/^https:/.test(link.href)) Object.assign(link, { target: "_blank", rel: "noreferrer" });
    else link.removeAttribute("href");
    return;
  }
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    await open(file || page, "");
    if (anchor) find(document.querySelector(".document")!, (text) => slug(text) === anchor);
  });
}

function find(body: Element, is: (text: string) => boolean): void {
  for (const heading of body.querySelectorAll("h1, h2, h3, h4")) if (is(heading.textContent ?? "")) return heading.scrollIntoView();
}

function slug(text: string): string {
  return text.toLowerCase().replace(/[^\w\s-]/g, "").trim().replace(/\s+/g, "-");
}
