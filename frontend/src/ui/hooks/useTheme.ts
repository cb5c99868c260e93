import { useEffect, useSyncExternalStore } from "react";
import { useStored } from "./useStored";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const DARK = "(prefers-color-scheme: dark)";

/** The selected theme and its setter. `public/theme.js` applies the same preference before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [stored, setStored] = useStored("theme");
  const theme = stored === "light" || stored === "dark" ? stored : "system";
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  return [
    theme,
    (next) => {
      setStored(next === "system" ? null : next);
    },
  ];
}

/** Whether dark colours are active, for drawing on a canvas. */
export function useIsDark(): boolean {
  const [theme] = useTheme();
  const systemIsDark = useSyncExternalStore(subscribeToSystem, () => matchMedia(DARK).matches);
  return theme === "system" ? systemIsDark : theme === "dark";
}

function subscribeToSystem(listener: () => void): () => void {
  const query = matchMedia(DARK);
  query.addEventListener("change", listener);
  return () => {
    query.removeEventListener("change", listener);
  };
}
