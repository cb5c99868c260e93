import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from "react";
import { useModal } from "../../ui/feedback/Dialog";
import dialogStyles from "../../ui/feedback/Dialog.module.css";
import { type Action, useScreenActions } from "../../ui/navigation/actions";
import { fuzzyFilter } from "../../ui/navigation/fuzzy";
import { THEMES, useTheme } from "../../ui/hooks/useTheme";
import styles from "./CommandPalette.module.css";
import { NAV_ITEMS } from "../shell/navItems";
import { useSearchResults } from "./useSearchResults";

interface PaletteProps {
  isOpen: boolean;
  onClose: () => void;
}

/** A titled group of actions. */
interface Section {
  title: string;
  actions: Action[];
}

/** Finds screens and actions by fuzzy match, and runs, datasets, models and traces by text. */
export function CommandPalette({ isOpen, onClose }: PaletteProps): ReactElement | null {
  return isOpen ? <OpenPalette onClose={onClose} /> : null;
}

function OpenPalette({ onClose }: { onClose: () => void }): ReactElement {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const sections = useSections(query);
  const results = sections.flatMap(({ actions }) => actions);
  useModal(dialog, onClose);
  useScrollIntoView(`${listId}-${chosen}`);
  const run = (action: Action | undefined): void => {
    if (action === undefined) return;
    onClose();
    action.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + results.length) % Math.max(results.length, 1));
    }
    if (event.key === "Enter") run(results[chosen]);
  };
  return (
    <dialog ref={dialog} className={dialogStyles.dialog} aria-label="Search or run a command" onClose={onClose}>
      <input
        className={styles.query}
        role="combobox"
        aria-label="Search screens, actions and items"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={results.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="Search screens, actions, runs, datasets, models, traces"
        value={query}
        onKeyDown={onKey}
        onChange={(event) => {
          setQuery(event.target.value);
          setChosen(0);
        }}
      />
      <Results id={listId} sections={sections} chosen={chosen} onRun={run} />
      <p className={styles.keys}>
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}

interface ResultsProps {
  id: string;
  sections: Section[];
  chosen: number;
  onRun: (action: Action) => void;
}

function Results({ id, sections, chosen, onRun }: ResultsProps): ReactElement {
  if (sections.length === 0) return <p role="status">No matches.</p>;
  const starts = sections.map((_, at) => sections.slice(0, at).reduce((sum, { actions }) => sum + actions.length, 0));
  return (
    <div id={id} role="listbox" aria-label="Search results" className={styles.results}>
      {sections.map(({ title, actions }, at) => (
        <div key={title} role="group" aria-label={title}>
          <div className={styles.heading} aria-hidden="true">
            {title}
          </div>
          {actions.map((action, inside) => {
            const index = (starts[at] ?? 0) + inside;
            return (
              // Keyboard input is handled by the text field above, which references the active option.
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

function useScrollIntoView(id: string): void {
  useEffect(() => {
    document.getElementById(id)?.scrollIntoView({ block: "nearest" });
  }, [id]);
}

/** The matching actions by section: this screen, the screens, this home, the app. */
function useSections(query: string): Section[] {
  const matching = (actions: Action[]): Action[] => fuzzyFilter(query, actions);
  const { navItems, others } = useAppActions();
  return [
    { title: "On this screen", actions: matching(useScreenActions()) },
    { title: "Screens", actions: matching(navItems) },
    { title: "In this home", actions: useSearchResults(query) },
    { title: "The app", actions: matching(others) },
  ].filter(({ actions }) => actions.length > 0);
}

function useAppActions(): { navItems: Action[]; others: Action[] } {
  const navigate = useNavigate();
  const [, setTheme] = useTheme();
  const navItems = NAV_ITEMS.map(({ label, to, letter }) => ({
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
  return { navItems, others: [...themes, description] };
}
