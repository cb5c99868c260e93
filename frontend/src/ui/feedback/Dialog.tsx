import { type ReactElement, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../forms/Button";
import styles from "./Dialog.module.css";

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A native modal dialog. Escape or a click on the backdrop closes it, and the focus returns to the opener. */
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

/** Shows a `<dialog>` as a modal while the component is mounted. A click on its backdrop closes it. */
export function useModal(dialog: React.RefObject<HTMLDialogElement | null>, onClose: () => void): void {
  const latest = useRef(onClose);
  // Read while rendering: when effects run, an element with `autoFocus` already has the focus.
  const [opener] = useState(() => document.activeElement);
  useEffect(() => {
    latest.current = onClose;
  });
  useEffect(() => {
    const element = dialog.current;
    let isOnBackdrop = false;
    const press = (event: MouseEvent): void => {
      isOnBackdrop = isOutside(event, element);
    };
    const closeFromBackdrop = (event: MouseEvent): void => {
      // A click that starts inside, such as a text selection, does not close the dialog.
      if (isOnBackdrop && isOutside(event, element)) latest.current();
    };
    element?.showModal();
    element?.addEventListener("mousedown", press);
    element?.addEventListener("click", closeFromBackdrop);
    return () => {
      element?.removeEventListener("mousedown", press);
      element?.removeEventListener("click", closeFromBackdrop);
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, [dialog, opener]);
}

/** Whether the pointer is on the backdrop. The dialog is the event target there, and on its own padding. */
function isOutside({ target, clientX, clientY }: MouseEvent, dialog: HTMLDialogElement | null): boolean {
  if (dialog === null || target !== dialog) return false;
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
