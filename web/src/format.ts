/** Figures as people read them. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const NONE = "–";

export function count(value: number): string {
  return whole.format(value);
}

/** At most four digits: 950, 12.3 k, 2.35 M. */
export function short(value: number): string {
  for (const [unit, name] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]] as const) {
    if (value >= unit * 0.9995) {
      const amount = value / unit;
      return amount.toFixed(amount < 10 ? 2 : amount < 100 ? 1 : 0) + name;
    }
  }
  return value > 0 && value < 10 && value % 1 ? value.toFixed(1) : whole.format(value);
}

export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "under 0.1 %";
  if (share > 0.999 && share < 1) return "over 99.9 %";
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(1000 * value)} ms`;
  if (value < 120) return `${trimmed(value, 1)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return `${trimmed(value / 3600, 1)} h`;
}

/** A wait on the window's clock. */
export function wait(value: number, unit: string): string {
  return unit === "s" ? seconds(value) : `${count(value)} arrivals`;
}

export function bytes(value: number): string {
  for (const [unit, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]] as const) {
    if (value >= unit) return `${trimmed(value / unit, 1)} ${name}`;
  }
  return `${value} B`;
}

/** A time of day; seconds only where there are any, unless they are asked for. */
export function clock(time: number, exact = false): string {
  const at = new Date(1000 * time);
  const two = (value: number) => String(value).padStart(2, "0");
  const seconds = at.getSeconds();
  return `${two(at.getHours())}:${two(at.getMinutes())}${seconds || exact ? `:${two(seconds)}` : ""}`;
}

/** The same, with the day if that is not today. */
export function moment(time: number, now: number): string {
  const [day, today] = [new Date(1000 * time), new Date(1000 * now)].map((date) => date.toDateString());
  const date = new Date(1000 * time).toLocaleDateString("en", { day: "numeric", month: "short" });
  return day === today ? clock(time, true) : `${date}, ${clock(time)}`;
}

export function loss(value: number | null | undefined): string {
  return value == null ? NONE : value.toFixed(3);
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
