/** The picture of the shoal at one moment. */

export interface Group {
  number: number;
  left: number;
  shown: string[];
  members: { waited: number; values: (string | null)[] }[];
}

export interface Box {
  width: number;
  height: number;
}

export type Inks = Record<"ink" | "muted" | "line" | "sea" | "soft" | "sand" | "card", string>;

const ENTER = 1.2; // seconds in which a record swims in
const NAMED = 2.2; // seconds for which its values are shown
const JOIN = 1.2; // seconds in which the members of a group come together
const STAY = 4; // seconds for which a group is shown
const LANES = 12;
const TOP = 34;
const OR_MISSING = " or missing";

interface Place {
  x: number;
  y: number;
}

export class Scene {
  constructor(private readonly k: number) {}

  draw(ctx: CanvasRenderingContext2D, box: Box, inks: Inks, groups: Group[], now: number): void {
    this.ground(ctx, box, inks);
    let any = false;
    const shown = groups.filter((group) => now - group.left <= JOIN + STAY);
    for (const group of shown) {
      const since = now - group.left;
      if (since > 0) this.halo(ctx, box, inks, group, since);
      group.members.forEach((member, n) => {
        const age = since + member.waited;
        if (age < 0) return;
        any = true;
        this.fish(ctx, box, inks, group, n, age, member.waited, since);
      });
      if (since > 0) this.name(ctx, box, inks, group, since);
    }
    for (const group of shown) {
      group.members.forEach((member, n) => this.values(ctx, box, inks, group, n, now - group.left + member.waited, member.waited));
    }
    if (!any) this.words(ctx, inks.muted, "The first records arrive. A group forms when the oldest one has waited long enough.", box.width / 2, box.height / 2, "center");
  }

  /** Everything at once, for those who want no motion: some arrive, some wait, and a group has left. */
  still(ctx: CanvasRenderingContext2D, box: Box, inks: Inks, group: Group | undefined): void {
    this.ground(ctx, box, inks);
    if (!group) return;
    this.halo(ctx, box, inks, group, JOIN + 0.01);
    group.members.forEach((_, n) => this.fish(ctx, box, inks, group, n, 99, 0, JOIN + 0.01));
    this.name(ctx, box, inks, group, JOIN + 0.01);
    const waits = group.members.length;
    const age = (n: number) => (n / waits < 0.25 ? ENTER + n / waits : ENTER + (9 * n) / waits);
    group.members.forEach((_, n) => this.fish(ctx, box, inks, group, n, age(n), 10, -1));
    group.members.forEach((_, n) => n / waits < 0.25 && this.values(ctx, box, inks, group, n, age(n), 10));
  }

  private ground(ctx: CanvasRenderingContext2D, { width, height }: Box, inks: Inks): void {
    ctx.clearRect(0, 0, width, height);
    ctx.font = "600 13px system-ui, sans-serif";
    const [first, second] = this.edges(width);
    for (const x of [first, second]) {
      ctx.strokeStyle = inks.line;
      ctx.setLineDash([3, 5]);
      ctx.beginPath();
      ctx.moveTo(x, 4);
      ctx.lineTo(x, height - 4);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    this.words(ctx, inks.ink, width < 560 ? "arrive" : "arrive, as they are", 4, 16);
    this.words(ctx, inks.ink, "wait", first + 12, 16);
    this.words(ctx, inks.ink, width < 560 ? "leave alike" : `leave, ${this.k} or more alike`, second + 12, 16);
  }

  private edges(width: number): [number, number] {
    return width < 560 ? [0.36 * width, 0.62 * width] : [0.24 * width, 0.66 * width];
  }

  private fish(
    ctx: CanvasRenderingContext2D, box: Box, inks: Inks, group: Group, n: number, age: number, waited: number, since: number,
  ): void {
    const own = this.waiting(box, group, n, Math.min(age, waited), waited);
    const together = this.member(box, group, n);
    const part = since <= 0 ? 0 : smooth(since / JOIN);
    const leaving = since > JOIN + STAY - 0.8 ? (JOIN + STAY - since) / 0.8 : 1;
    const x = own.x + (together.x - own.x) * part;
    const y = own.y + (together.y - own.y) * part;
    ctx.globalAlpha = Math.max(0, Math.min(leaving, age / 0.4, 1));
    body(ctx, x, y, part > 0.5 ? inks.sea : inks.sand);
    ctx.globalAlpha = 1;
  }

  /** What a record shows while it arrives: above all fish, on a ground of its own. */
  private values(ctx: CanvasRenderingContext2D, box: Box, inks: Inks, group: Group, n: number, age: number, waited: number): void {
    if (age < 0 || age >= Math.min(NAMED, waited) || n % (box.width < 560 ? 4 : 2)) return;
    const { x, y } = this.waiting(box, group, n, age, waited);
    const told = (group.members[n]?.values ?? []).map((value) => value ?? "–");
    const text = (box.width < 560 ? [told[0], told[2]] : told).join(" · ");
    ctx.globalAlpha = Math.max(0, Math.min(age / 0.4, (NAMED - age) / 0.6, 1));
    ctx.font = "12px system-ui, sans-serif";
    ctx.fillStyle = inks.card;
    ctx.fillRect(x + 11, y - 7, ctx.measureText(text).width + 4, 14);
    this.words(ctx, inks.ink, text, x + 13, y + 4);
    ctx.globalAlpha = 1;
  }

  /** What is blurred: one cloud around all of them. */
  private halo(ctx: CanvasRenderingContext2D, box: Box, inks: Inks, group: Group, since: number): void {
    const part = Math.min((since - 0.5 * JOIN) / JOIN, (JOIN + STAY - since) / 0.8, 1);
    if (part <= 0) return;
    ctx.globalAlpha = 0.16 * part;
    ctx.fillStyle = inks.sea;
    ctx.beginPath();
    group.members.forEach((_, n) => {
      const { x, y } = this.member(box, group, n);
      ctx.moveTo(x + 24, y);
      ctx.ellipse(x, y, 24, 17, 0, 0, 2 * Math.PI);
    });
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** Where a record waits: it drifts to the right while its time passes. */
  private waiting({ width, height }: Box, group: Group, n: number, age: number, waited: number): Place {
    const [first, second] = this.edges(width);
    const lane = 2 * ((5 * (n >> 1) + 3 * (n & 1)) % (LANES / 2)) + (group.number % 2); // names of others have other lanes
    const enter = smooth(age / ENTER);
    const entered = 10 + enter * 0.08 * width;
    const drift = Math.max(0, age - NAMED) / Math.max(waited - NAMED, 0.1);
    const from = 10 + 0.08 * width;
    const to = first + 24 + (0.35 + 0.6 * (((n * 5) % 11) / 11)) * (second - first - 48);
    const x = age < NAMED ? entered : from + (to - from) * smooth(Math.min(3 * drift, 1)) * (0.85 + 0.15 * Math.min(drift, 1));
    return { x, y: TOP + (height - TOP - 14) * ((lane + 0.5) / LANES) + 2 * Math.sin(age + n) };
  }

  /** Its place in the shoal. */
  private member({ width, height }: Box, { members }: Group, n: number): Place {
    const [, second] = this.edges(width);
    const columns = width < 560 ? 4 : 7;
    const rows = Math.ceil(members.length / columns);
    const wide = Math.min(26, (width - second - 24) / (columns + 0.5));
    const middle = second + (width - second) / 2;
    const row = Math.floor(n / columns);
    return {
      x: middle + ((n % columns) - (columns - 1) / 2 + (row % 2 ? 0.25 : -0.25)) * wide,
      y: TOP + 0.34 * (height - TOP) + (row - (rows - 1) / 2) * 16,
    };
  }

  /** What all of them show. */
  private name(ctx: CanvasRenderingContext2D, { width, height }: Box, inks: Inks, group: Group, since: number): void {
    const [, second] = this.edges(width);
    const part = Math.min((since - 0.6 * JOIN) / 0.5, (JOIN + STAY - since) / 0.8, 1);
    if (part <= 0) return;
    ctx.globalAlpha = part;
    const middle = second + (width - second) / 2;
    const narrow = group.shown.flatMap((text) => (text.endsWith(OR_MISSING) ? [text.slice(0, -OR_MISSING.length), OR_MISSING.trim()] : [text]));
    const lines = width < 560 ? narrow : [group.shown.slice(0, 2).join(" · "), group.shown[2] ?? ""];
    const first = height - 22 - 16 * lines.length;
    ctx.font = "600 13px system-ui, sans-serif";
    lines.forEach((line, n) => this.words(ctx, inks.sea, line, middle, first + 16 * n, "center"));
    ctx.font = "12px system-ui, sans-serif";
    this.words(ctx, inks.muted, `${group.members.length} rows, all alike`, middle, height - 10, "center");
    ctx.globalAlpha = 1;
  }

  private words(ctx: CanvasRenderingContext2D, ink: string, text: string, x: number, y: number, align: CanvasTextAlign = "left"): void {
    ctx.fillStyle = ink;
    ctx.textAlign = align;
    ctx.fillText(text, x, y);
  }
}

function smooth(part: number): number {
  const at = Math.max(0, Math.min(part, 1));
  return at * at * (3 - 2 * at);
}

function body(ctx: CanvasRenderingContext2D, x: number, y: number, ink: string): void {
  ctx.fillStyle = ink;
  ctx.beginPath();
  ctx.ellipse(x, y, 8, 4.2, 0, 0, 2 * Math.PI);
  ctx.moveTo(x - 6, y);
  ctx.lineTo(x - 13.5, y - 4.6);
  ctx.lineTo(x - 13.5, y + 4.6);
  ctx.closePath();
  ctx.fill();
}
