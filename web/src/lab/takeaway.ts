/** What to take away: the policy, the report, and the calls that do the same. */

import { make, write } from "../element";
import { anonymized, assessment, calls, policy, Refused, report, save } from "./api";
import type { Sheet, State } from "./model";

export class Takeaway {
  private readonly yaml = make("pre", { id: "policy", tabindex: "0", role: "region", "aria-label": "The policy as YAML" });
  private readonly cli = make("pre", { tabindex: "0", role: "region", "aria-label": "Commands" });
  private readonly python = make("pre", { tabindex: "0", role: "region", "aria-label": "Python" });
  private readonly note = make("p", { role: "status", class: "muted" });
  private readonly buttons: HTMLButtonElement[] = [];

  constructor(place: HTMLElement, state: State, private readonly sheet: () => Sheet) {
    const saves = state.saves ? [this.button(`Save ${state.saves}`, async () => `Saved to ${(await save(this.sheet())).saved}.`, "main")] : [];
    place.replaceChildren(
      make("h2", { id: "takeaway-title" }, "Take it away"),
      make(
        "div",
        { class: "together" },
        ...saves,
        this.button("Download policy", async () => this.download("policy.yaml", await policy(this.sheet()), "application/yaml"), saves.length ? "" : "main"),
        this.button("Download audit report", async () => this.download("audit.html", await report(this.sheet()), "text/html")),
        this.button("Download impact assessment", async () => this.download("assessment.html", await assessment(this.sheet()), "text/html")),
        this.button("Download anonymized sample", async () => this.download("anonymized.csv", await anonymized(this.sheet()), "text/csv")),
        this.button("Copy commands", () => this.copy(this.cli)),
        this.button("Copy Python", () => this.copy(this.python)),
        this.note,
      ),
      make(
        "div",
        { class: "texts" },
        make("div", {}, make("h3", {}, "policy.yaml"), this.yaml),
        make("div", {}, make("h3", {}, "Commands"), this.cli, make("h3", {}, "Python"), this.python),
      ),
    );
  }

  async changed(sheet: Sheet): Promise<void> {
    const [text, told] = await Promise.all([policy(sheet), calls(sheet)]);
    write(this.yaml, text);
    write(this.cli, told.cli);
    write(this.python, told.python);
  }

  /** Only a policy without problems can be taken away. */
  allow(is: boolean): void {
    for (const button of this.buttons.slice(0, -2)) button.disabled = !is;
  }

  private button(name: string, act: () => Promise<string>, look = ""): HTMLButtonElement {
    const button = make("button", { type: "button", ...(look ? { class: look } : {}) }, name);
    this.buttons.push(button);
    button.addEventListener("click", async () => {
      write(this.note, "…");
      try {
        write(this.note, await act());
      } catch (error) {
        write(this.note, error instanceof Refused ? error.message : "That did not work.");
      }
    });
    return button;
  }

  private download(name: string, text: string, type: string): string {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    return `${name} is with your downloads.`;
  }

  private async copy(from: HTMLElement): Promise<string> {
    try {
      await navigator.clipboard.writeText(from.textContent ?? "");
      return "Copied.";
    } catch {
      getSelection()?.selectAllChildren(from);
      return "Selected: copy it with your keyboard.";
    }
  }
}
