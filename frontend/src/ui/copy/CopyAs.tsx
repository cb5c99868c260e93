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

/** Offers what the screen shows or does as a command to copy. */
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

/** Put a text into the clipboard, and say so. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast(`Copied: ${what}`);
  } catch {
    // Browsers refuse over plain http from another machine.
    showToast(`The browser does not let pages copy here. Copy it yourself: ${text}`, "error");
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
