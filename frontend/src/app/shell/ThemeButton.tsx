import type { ReactElement } from "react";
import { Button } from "../../ui/forms/Button";
import { THEMES, type Theme, useTheme } from "../../ui/theme";

const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

/** A button that cycles through the system, light and dark themes. */
export function ThemeButton(): ReactElement {
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
