import { useEffect, useSyncExternalStore } from "react";

/** An action in the command palette. */
export interface Action {
  label: string;
  run: () => void;
  /** Shown beside the label, such as the shortcut or the kind. */
  hint?: string;
}

let groups: readonly (readonly Action[])[] = [];
const listeners = new Set<() => void>();

/** Registers actions of the current screen, listed first in the command palette. Keep the array stable (`useMemo`). */
export function useActions(actions: readonly Action[]): void {
  useEffect(() => {
    change([actions, ...groups]);
    return () => {
      change(groups.filter((group) => group !== actions));
    };
  }, [actions]);
}

export function useScreenActions(): Action[] {
  return useSyncExternalStore(subscribe, () => groups).flat();
}

function change(next: typeof groups): void {
  groups = next;
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
