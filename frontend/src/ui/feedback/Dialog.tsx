import { type ReactElement, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../forms/Button";
import styles from "./Dialog.module.css";

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A native modal dialog: Escape and a click beside it close it, and the focus goes back to where it was. */
export function Dialog({ title, isOpen, onClose, children }: DialogProps): ReactElement | null {
  return isOpen ? (
    <OpenDialog title={title} onClose={onClose}>
      {children}
    </OpenDialog>
  ) : null;
}

function OpenDialog({ title, onClose, children }: Omit<DialogProps, "isOpen">): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useModal(dialog, onClose);
  return (
    <dialog ref={dialog} className={styles.dialog} aria-labelledby={titleId} onClose={onClose}>
      <div className={styles.head}>
        <h2 id={titleId}>{title}</h2>
        <Button kind="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </div>
      {children}
    </dialog>
  );
}

/** Show a `<dialog>` as a modal for as long as the component is there; a click on its backdrop closes it. */
export function useModal(dialog: React.RefObject<HTMLDialogElement | null>, onClose: () => void): void {
  const latest = useRef(onClose);
  // Read while rendering: in an effect, what has `autoFocus` inside has the focus already.
  const [opener] = useState(() => document.activeElement);
  useEffect(() => {
    latest.current = onClose;
  });
  useEffect(() => {
    const element = dialog.current;
    const closeBeside = (event: MouseEvent): void => {
      // Inside, the target is what the dialog holds.
      if (event.target === element) latest.current();
    };
    element?.showModal();
    element?.addEventListener("click", closeBeside);
    return () => {
      element?.removeEventListener("click", closeBeside);
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, [dialog, opener]);
}
