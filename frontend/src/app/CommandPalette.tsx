import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactElement, useId, useRef, useState } from "react";
import { useModal } from "../ui/feedback/Dialog";
import dialogStyles from "../ui/feedback/Dialog.module.css";
import { type Action, useScreenActions } from "../ui/navigation/actions";
import { fuzzyFilter } from "../ui/navigation/fuzzy";
import { THEMES, useTheme } from "../ui/theme";
import styles from "./CommandPalette.module.css";
import { PLACES } from "./places";

const MAX_SHOWN = 12;

interface PaletteProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Every place and action by a few of its letters. */
export function CommandPalette({ isOpen, onClose }: PaletteProps): ReactElement | null {
  return isOpen ? <OpenPalette onClose={onClose} /> : null;
}

function OpenPalette({ onClose }: { onClose: () => void }): ReactElement {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const found = fuzzyFilter(query, useEveryAction()).slice(0, MAX_SHOWN);
  useModal(dialog, onClose);
  const run = (action: Action | undefined): void => {
    if (action === undefined) return;
    onClose();
    action.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % Math.max(found.length, 1));
    }
    if (event.key === "Enter") run(found[chosen]);
  };
  return (
    <dialog ref={dialog} className={dialogStyles.dialog} aria-label="Search or do" onClose={onClose}>
      <input
        className={styles.query}
        role="combobox"
        aria-label="A place or an action"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="Type a few letters of a place or an action"
        value={query}
        onKeyDown={onKey}
        onChange={(event) => {
          setQuery(event.target.value);
          setChosen(0);
        }}
      />
      <Found id={listId} actions={found} chosen={chosen} onRun={run} />
    </dialog>
  );
}

interface FoundProps {
  id: string;
  actions: Action[];
  chosen: number;
  onRun: (action: Action) => void;
}

function Found({ id, actions, chosen, onRun }: FoundProps): ReactElement {
  if (actions.length === 0) return <p>Nothing has these letters.</p>;
  return (
    <div id={id} role="listbox" aria-label="Places and actions" className={styles.found}>
      {actions.map((action, index) => (
        // The keyboard works in the text field above, which names the chosen option.
        // eslint-disable-next-line jsx-a11y/click-events-have-key-events
        <div
          key={`${action.label} ${index}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onClick={() => {
            onRun(action);
          }}
        >
          {action.label} <span>{action.hint}</span>
        </div>
      ))}
    </div>
  );
}

function useEveryAction(): Action[] {
  const navigate = useNavigate();
  const [, setTheme] = useTheme();
  const places = PLACES.map(({ label, to, letter }) => ({
    label,
    hint: `g ${letter}`,
    run: () => void navigate({ to }),
  }));
  const themes = THEMES.map((theme) => ({
    label: `Theme: ${theme}`,
    run: () => {
      setTheme(theme);
    },
  }));
  const description = {
    label: "API description",
    hint: "/docs",
    run: () => {
      location.assign("/docs");
    },
  };
  return [...useScreenActions(), ...places, ...themes, description];
}
