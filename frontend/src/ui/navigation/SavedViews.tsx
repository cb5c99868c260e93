import { type ReactElement, type ReactNode, type SubmitEvent, useState } from "react";
import { Button } from "../forms/Button";
import { TextField } from "../forms/TextField";
import styles from "./SavedViews.module.css";
import { isSameView, type ReadSearch, useViews, type View } from "./views";

/** A view is current when exactly its filters are active. */
export const EXACTLY = { exact: true, includeSearch: true };

/** The props of a view's link. */
export interface ViewLinkProps {
  className: string | undefined;
  "aria-current": "page" | undefined;
  children: ReactNode;
}

interface SavedViewsProps<Search> {
  /** The name of the list, used as the storage key. */
  list: string;
  /** The built-in views. */
  builtIn: readonly View<Search>[];
  search: Search;
  read: ReadSearch<Search>;
  /** Renders a link to the list with a view applied. */
  link: (search: Search, props: ViewLinkProps) => ReactElement;
}

/** Links to built-in and saved views of a list, with a button to save the current one. */
export function SavedViews<Search extends object>(props: SavedViewsProps<Search>): ReactElement {
  const { list, builtIn, search, read, link } = props;
  const { views, save, remove } = useViews(list, read);
  const [isNaming, setNaming] = useState(false);
  const isKnown = [...builtIn, ...views].some((view) => isSameView(view.search, search));
  const linkOf = (view: View<Search>): ReactElement =>
    link(view.search, {
      className: styles.view,
      "aria-current": isSameView(view.search, search) ? "page" : undefined,
      children: view.name,
    });
  return (
    <nav aria-label="Views" className={styles.views}>
      <ul>
        {builtIn.map((view) => (
          <li key={view.name}>{linkOf(view)}</li>
        ))}
        {views.map((view) => (
          <li key={view.name}>
            {linkOf(view)}
            <Button
              kind="quiet"
              aria-label={`Delete view ${view.name}`}
              onClick={() => {
                remove(view.name);
              }}
            >
              ✕
            </Button>
          </li>
        ))}
      </ul>
      {isKnown ? null : isNaming ? (
        <NameForm
          onName={(name) => {
            save({ name, search });
            setNaming(false);
          }}
          onCancel={() => {
            setNaming(false);
          }}
        />
      ) : (
        <Button
          kind="quiet"
          onClick={() => {
            setNaming(true);
          }}
        >
          Save view
        </Button>
      )}
    </nav>
  );
}

interface NameFormProps {
  onName: (name: string) => void;
  onCancel: () => void;
}

function NameForm({ onName, onCancel }: NameFormProps): ReactElement {
  const [name, setName] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (name.trim() !== "") onName(name.trim());
  };
  return (
    <form onSubmit={submit} className={styles.naming}>
      {/* The form opens because the user asked to name a view. */}
      {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
      <TextField label="View name" isLabelHidden placeholder="Name" value={name} onChange={setName} autoFocus />
      <Button type="submit">Save</Button>
      <Button kind="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}
