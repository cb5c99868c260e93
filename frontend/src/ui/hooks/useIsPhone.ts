import { useSyncExternalStore } from "react";

/** The same breakpoint as in the style sheets. */
const PHONE = "(max-width: 48rem)";

export function useIsPhone(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(PHONE).matches);
}

function subscribe(listener: () => void): () => void {
  const query = matchMedia(PHONE);
  query.addEventListener("change", listener);
  return () => {
    query.removeEventListener("change", listener);
  };
}
