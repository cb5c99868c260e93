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
    let isBeside = false;
    const press = (event: MouseEvent): void => {
      isBeside = isOutside(event, element);
    };
    const closeBeside = (event: MouseEvent): void => {
      // A press that began inside and slipped, as when text is marked, is not meant to close.
      if (isBeside && isOutside(event, element)) latest.current();
    };
    element?.showModal();
    element?.addEventListener("mousedown", press);
    element?.addEventListener("click", closeBeside);
    return () => {
      element?.removeEventListener("mousedown", press);
      element?.removeEventListener("click", closeBeside);
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, [dialog, opener]);
}

/** Whether the pointer is on the backdrop. The dialog is the target there, and also where nothing in it is. */
function isOutside({ target, clientX, clientY }: MouseEvent, dialog: HTMLDialogElement | null): boolean {
  if (dialog === null || target !== dialog) return false;
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
