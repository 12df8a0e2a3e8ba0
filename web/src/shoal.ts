/** How a record hides in its shoal: generated records arrive, wait, and leave in a group whose rows are equal. */

import { byId, write } from "./element";
import type { Snapshot } from "./snapshot";
import { Scene, type Group } from "./scene";
import { colour } from "./theme";

const LATE = 13; // seconds that the picture is behind: only then is it known who leaves with whom
const FRAME = 66; // milliseconds from one picture to the next
const POLL = 2000;

interface Told {
  now: number;
  groups: Group[];
}

export class Shoal {
  private readonly figure = byId("shoal");
  private readonly canvas = byId<HTMLCanvasElement>("shoal-picture");
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)");
  private scene: Scene | undefined;
  private groups: Group[] = [];
  private next = 0;
  private ahead = 0; // of the server's clock, in seconds
  private resting = false;
  private seen = false;
  private drawn = 0;
  private width = 0;

  /** Only a stream of generated records has such groups. */
  follow(told: Snapshot): void {
    if (this.scene || told.about.pipeline !== "shoal demo") return;
    this.figure.hidden = false;
    this.scene = new Scene(told.policy.k);
    const { k, deadline } = told.policy;
    const wait = deadline == null ? "" : `, waits at most ${deadline} s`;
    write(byId("shoal-note"), `Each record comes with an exact age, activity and district${wait}, and leaves with the records of at least ${k - 1} other persons: all of them show the same.`);
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    new IntersectionObserver(([entry]) => {
      this.seen = entry?.isIntersecting ?? false;
      this.wake();
    }).observe(this.canvas);
    document.addEventListener("visibilitychange", () => this.wake());
    this.still.addEventListener("change", () => this.wake());
    void this.ask();
    setInterval(() => void this.ask(), POLL);
  }

  /** Stand still, or go on. */
  rest(resting: boolean): void {
    if (resting === this.resting) return;
    this.resting = resting;
    this.wake();
  }

  private get moves(): boolean {
    return this.seen && !this.resting && !document.hidden && !this.still.matches;
  }

  private async ask(): Promise<void> {
    if (this.resting || document.hidden) return;
    try {
      const answer = await fetch(`/api/shoal?since=${this.next}`);
      if (!answer.ok) return;
      const { now, groups } = (await answer.json()) as Told;
      this.ahead = now - performance.now() / 1000;
      this.groups.push(...groups);
      this.next = (groups.at(-1)?.number ?? this.next - 1) + 1;
      this.groups = this.groups.filter((group) => group.left > now - 2 * LATE).slice(-10);
      if (this.still.matches) this.draw();
    } catch {
      // the page says by itself that there is no connection
    }
  }

  private wake(): void {
    if (this.still.matches) this.draw();
    else if (this.moves && !this.drawn) this.frame();
  }

  /** One picture, and the next one later: fifteen a second are smooth enough, and cost a quarter of sixty. */
  private frame(): void {
    this.drawn = 0;
    if (!this.moves) return;
    this.draw();
    this.drawn = window.setTimeout(() => requestAnimationFrame(() => this.frame()), FRAME);
  }

  private fit(): void {
    this.width = this.canvas.clientWidth;
    this.canvas.width = this.width * devicePixelRatio;
    this.canvas.height = this.canvas.clientHeight * devicePixelRatio;
    this.draw();
  }

  private draw(): void {
    const ctx = this.canvas.getContext("2d");
    if (!ctx || !this.scene || !this.width) return;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const inks = { ink: colour("ink"), muted: colour("muted"), line: colour("line"), sea: colour("sea"), soft: colour("sea-soft"), sand: colour("sand"), card: colour("card") };
    const box = { width: this.width, height: this.canvas.clientHeight };
    const newest = this.groups.at(-1);
    if (this.still.matches) this.scene.still(ctx, box, inks, newest);
    else this.scene.draw(ctx, box, inks, this.groups, performance.now() / 1000 + this.ahead - LATE);
  }
}
