import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from "react";
import { useModal } from "../../ui/feedback/Dialog";
import dialogStyles from "../../ui/feedback/Dialog.module.css";
import { type Action, useScreenActions } from "../../ui/navigation/actions";
import { fuzzyFilter } from "../../ui/navigation/fuzzy";
import { THEMES, useTheme } from "../../ui/theme";
import styles from "./CommandPalette.module.css";
import { PLACES } from "../shell/navItems";
import { useFoundThings } from "./useSearchResults";

interface PaletteProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Actions under a heading; without one when they are ordered by how well they fit. */
interface Section {
  title: string;
  actions: Action[];
}

/** Every place and action by a few of its letters, and every run, dataset, model and trace by its text. */
export function CommandPalette({ isOpen, onClose }: PaletteProps): ReactElement | null {
  return isOpen ? <OpenPalette onClose={onClose} /> : null;
}

function OpenPalette({ onClose }: { onClose: () => void }): ReactElement {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const sections = useSections(query);
  const found = sections.flatMap(({ actions }) => actions);
  useModal(dialog, onClose);
  useInSight(`${listId}-${chosen}`);
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
        aria-label="A place, an action, or something of this home"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="A place, an action, a run, a dataset, words of a trace"
        value={query}
        onKeyDown={onKey}
        onChange={(event) => {
          setQuery(event.target.value);
          setChosen(0);
        }}
      />
      <Found id={listId} sections={sections} chosen={chosen} onRun={run} />
      <p className={styles.keys}>
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}

interface FoundProps {
  id: string;
  sections: Section[];
  chosen: number;
  onRun: (action: Action) => void;
}

function Found({ id, sections, chosen, onRun }: FoundProps): ReactElement {
  if (sections.length === 0) return <p role="status">Nothing has these letters.</p>;
  const starts = sections.map((_, at) => sections.slice(0, at).reduce((sum, { actions }) => sum + actions.length, 0));
  return (
    <div id={id} role="listbox" aria-label="Places and actions" className={styles.found}>
      {sections.map(({ title, actions }, at) => (
        <div key={title} role="group" aria-label={title}>
          <div className={styles.heading} aria-hidden="true">
            {title}
          </div>
          {actions.map((action, inside) => {
            const index = (starts[at] ?? 0) + inside;
            return (
              // The keyboard works in the text field above, which names the chosen option.
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events
              <div
                key={`${action.label} ${index}`}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                className={styles.option}
                aria-selected={index === chosen}
                onClick={() => {
                  onRun(action);
                }}
              >
                <span className={styles.label}>{action.label}</span> <span className={styles.hint}>{action.hint}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function useInSight(id: string): void {
  useEffect(() => {
    document.getElementById(id)?.scrollIntoView({ block: "nearest" });
  }, [id]);
}

/** What fits, in the order in which it is offered: this screen, the places, this home, the rest. */
function useSections(query: string): Section[] {
  const fitting = (actions: Action[]): Action[] => fuzzyFilter(query, actions);
  const { places, others } = useFixedActions();
  return [
    { title: "On this screen", actions: fitting(useScreenActions()) },
    { title: "Screens", actions: fitting(places) },
    { title: "In this home", actions: useFoundThings(query) },
    { title: "The app", actions: fitting(others) },
  ].filter(({ actions }) => actions.length > 0);
}

function useFixedActions(): { places: Action[]; others: Action[] } {
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
  return { places, others: [...themes, description] };
}
