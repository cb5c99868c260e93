import type { ReactElement, ReactNode } from "react";
import { Button } from "../forms/Button";
import { Dialog } from "./Dialog";
import styles from "./Dialog.module.css";

interface ConfirmDialogProps {
  title: string;
  isOpen: boolean;
  /** The label of the confirm button: the action itself, such as "Delete run". */
  confirmLabel: string;
  /** The label of the safe button. */
  dismissLabel?: string;
  isDangerous?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  /** The consequences, including what cannot be undone. */
  children: ReactNode;
}

/** Confirms an action that cannot be undone. The cancel button has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactElement {
  const {
    title,
    isOpen,
    confirmLabel,
    dismissLabel = "Cancel",
    isDangerous = false,
    onConfirm,
    onClose,
    children,
  } = props;
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <div>{children}</div>
      <div className={styles.buttons}>
        {/* The user opened the dialog, and cancel is the safe default. */}
        {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
        <Button autoFocus onClick={onClose}>
          {dismissLabel}
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
