import { useEffect, useMemo, useRef } from "react";
import { useActions } from "./actions";
import { useShortcuts } from "./shortcuts";

/** The key of what a list is there to begin: a run, a dataset, a sweep. */
export const NEW_KEY = "n";

/** An act of the screen that is shown: the palette offers it, and a key does it. */
export function useScreenAct(label: string, keys: string, run: () => void): void {
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
