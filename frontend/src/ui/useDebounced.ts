import { useEffect, useState } from "react";

const SETTLED_AFTER_MS = 200;

/** A value as it is once it no longer changes: what is typed, without every letter on the way. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, SETTLED_AFTER_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return settled;
}
