import { useEffect, useMemo, useRef } from "react";
import { useActions } from "./actions";
import { useShortcuts } from "./shortcuts";

/** The key that creates a new item in a list: a run, a dataset, a sweep. */
export const NEW_KEY = "n";

/** Registers an action of the current screen in the palette, with a shortcut. */
export function useScreenAction(label: string, keys: string, run: () => void): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useActions(
    useMemo(
      () => [
        {
          label,
          hint: keys,
          run: () => {
            latest.current();
          },
        },
      ],
      [label, keys],
    ),
  );
  useShortcuts([{ keys, label, run }]);
}
