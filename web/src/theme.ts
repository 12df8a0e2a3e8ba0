/** Light, dark, or as the system has it; remembered. */

type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const dark = matchMedia("(prefers-color-scheme: dark)");

export function themed(button: HTMLButtonElement, changed: () => void): void {
  let theme = remembered();
  const show = () => {
    document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    button.textContent = `Theme: ${theme}`;
    changed();
  };
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // a browser that keeps nothing shows it none the less
    }
    show();
  });
  dark.addEventListener("change", show);
  show();
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function remembered(): Theme {
  try {
    const found = localStorage.getItem("theme");
    return found && found in NEXT ? (found as Theme) : "system";
  } catch {
    return "system";
  }
}
