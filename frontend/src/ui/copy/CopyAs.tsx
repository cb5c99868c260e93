import { type ReactElement, useEffect, useRef, useState } from "react";
import { showToast } from "../feedback/toasts";
import { Button } from "../forms/Button";
import styles from "./CopyAs.module.css";
import type { Snippets } from "./snippets";

const KINDS: readonly { key: keyof Snippets; label: string }[] = [
  { key: "cli", label: "Command line" },
  { key: "curl", label: "curl" },
  { key: "python", label: "Python" },
];

/** A menu that copies the screen's request as a command, curl or Python. */
export function CopyAs({ snippets }: { snippets: Snippets }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  useCloseOutside(host, isOpen, setOpen);
  return (
    <div ref={host} className={styles.copy}>
      <Button
        aria-expanded={isOpen}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        Copy as…
      </Button>
      {isOpen ? (
        <ul className={styles.list}>
          {KINDS.map(({ key, label }) => (
            <li key={key}>
              <Button
                kind="quiet"
                title={snippets[key]}
                onClick={() => {
                  setOpen(false);
                  void copyText(snippets[key], label);
                }}
              >
                {label}
              </Button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

/** Copies a text to the clipboard and shows a toast. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast(`Copied: ${what}`);
  } catch {
    // Browsers deny clipboard access over plain HTTP from another machine.
    showToast(`The browser denied clipboard access. Copy this text manually: ${text}`, "error");
  }
}

function useCloseOutside(
  host: React.RefObject<HTMLElement | null>,
  isOpen: boolean,
  setOpen: (isOpen: boolean) => void,
): void {
  useEffect(() => {
    if (!isOpen) return;
    const onEvent = (event: Event): void => {
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      const isOutside = event.target instanceof Node && !host.current?.contains(event.target);
      if (isEscape || (event.type !== "keydown" && isOutside)) setOpen(false);
    };
    const kinds = ["keydown", "pointerdown", "focusin"];
    kinds.forEach((kind) => {
      addEventListener(kind, onEvent);
    });
    return () => {
      kinds.forEach((kind) => {
        removeEventListener(kind, onEvent);
      });
    };
  }, [host, isOpen, setOpen]);
}
