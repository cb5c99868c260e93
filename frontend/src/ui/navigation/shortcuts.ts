import { useEffect, useRef } from "react";
import { readStored } from "../hooks/useStored";

/** `keys`: one key, or a sequence separated by spaces, such as `g r`. */
export interface Shortcut {
  keys: string;
  label: string;
  run: () => void;
}

const SEQUENCE_LIMIT_MS = 1_500;
const active = new Set<Shortcut>();
let pressed: { keys: string; at: number } = { keys: "", at: 0 };

/** The active shortcuts, listed by the help dialog. */
export function activeShortcuts(): Shortcut[] {
  return [...active];
}

/**
 * Registers shortcuts while the component is mounted. They are ignored while the user types, and can be turned off.
 *
 * @example
 * useShortcuts([{ keys: "a", label: "Accept the step", run: accept }]);
 */
export function useShortcuts(shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  const names = shortcuts.map(({ keys, label }) => `${keys}\n${label}`).join("\n\n");
  useEffect(() => {
    const own = names
      .split("\n\n")
      .filter(Boolean)
      .map((name, index) => {
        const [keys = "", label = ""] = name.split("\n");
        return { keys, label, run: () => latest.current[index]?.run() };
      });
    own.forEach((shortcut) => active.add(shortcut));
    return () => {
      own.forEach((shortcut) => active.delete(shortcut));
    };
  }, [names]);
}

/** The app's single keydown handler. */
export function onShortcutKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target) || readStored("shortcuts") === "off") return;
  const isFollowing = event.timeStamp - pressed.at < SEQUENCE_LIMIT_MS;
  const sequence = isFollowing && pressed.keys !== "" ? `${pressed.keys} ${event.key}` : event.key;
  const found = lastWith(sequence) ?? lastWith(event.key);
  pressed = { keys: found ? "" : event.key, at: event.timeStamp };
  if (!found) return;
  event.preventDefault();
  found.run();
}

// The shortcut added last takes precedence.
function lastWith(keys: string): Shortcut | undefined {
  return [...active].reverse().find((shortcut) => shortcut.keys === keys);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
