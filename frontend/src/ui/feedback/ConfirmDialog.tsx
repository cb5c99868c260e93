import type { ReactElement, ReactNode } from "react";
import { Button } from "../forms/Button";
import { Dialog } from "./Dialog";
import styles from "./Dialog.module.css";

interface ConfirmDialogProps {
  title: string;
  isOpen: boolean;
  /** What the button says: the act itself, as "Delete the run". */
  confirmLabel: string;
  isDangerous?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  /** What will happen, and what cannot be undone. */
  children: ReactNode;
}

/** Asks before something that cannot be taken back. The safe button has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactElement {
  const { title, isOpen, confirmLabel, isDangerous = false, onConfirm, onClose, children } = props;
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <div>{children}</div>
      <div className={styles.buttons}>
        {/* The dialog opens at the user's wish, and the safe choice is the one to land on. */}
        {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
        <Button autoFocus onClick={onClose}>
          Keep it as it is
        </Button>
        <Button
          kind={isDangerous ? "danger" : "primary"}
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
