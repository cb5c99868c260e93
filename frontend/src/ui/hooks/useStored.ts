import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "tunix-rt.";
const listeners = new Set<() => void>();

/** A preference stored in this browser. Put view state that should be shareable in the URL instead. */
export function useStored(name: string): [string | null, (value: string | null) => void] {
  const value = useSyncExternalStore(subscribe, () => readStored(name));
  const set = useCallback(
    (next: string | null) => {
      writeStored(name, next);
    },
    [name],
  );
  return [value, set];
}

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    // Storage may be disabled; then nothing is persisted.
    return null;
  }
}

export function writeStored(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    return;
  }
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}
