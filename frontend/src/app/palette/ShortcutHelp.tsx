import type { ReactElement } from "react";
import { Checkbox } from "../../ui/forms/Checkbox";
import { Dialog } from "../../ui/feedback/Dialog";
import { activeShortcuts } from "../../ui/navigation/shortcuts";
import { useStored } from "../../ui/hooks/useStored";
import styles from "./ShortcutHelp.module.css";

interface HelpProps {
  isOpen: boolean;
  onClose: () => void;
}

/** The active shortcuts, and a checkbox to turn them off. */
export function ShortcutHelp({ isOpen, onClose }: HelpProps): ReactElement {
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose}>
      <KeyList />
    </Dialog>
  );
}

function KeyList(): ReactElement {
  const [stored, setStored] = useStored("shortcuts");
  return (
    <div>
      <Checkbox
        label="Single-key shortcuts"
        isChecked={stored !== "off"}
        onChange={(isOn) => {
          setStored(isOn ? null : "off");
        }}
      />
      <dl className={styles.keys}>
        <div>
          <dt>
            <kbd>Ctrl K</kbd> or <kbd>⌘ K</kbd>
          </dt>
          <dd>Search or run a command</dd>
        </div>
        {activeShortcuts().map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
