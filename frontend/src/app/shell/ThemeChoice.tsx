import type { ReactElement } from "react";
import { Button } from "../../ui/forms/Button";
import { THEMES, type Theme, useTheme } from "../../ui/theme";

const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

/** Light, dark, or what the system says: each press takes the next. */
export function ThemeChoice(): ReactElement {
  const [theme, setTheme] = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <Button
      kind="quiet"
      aria-label={`Theme: ${theme}. Change to ${next}.`}
      title={`Theme: ${theme}`}
      onClick={() => {
        setTheme(next);
      }}
    >
      <span aria-hidden="true">{SIGNS[theme]}</span>
    </Button>
  );
}
