import { type ReactElement, type ReactNode, type SubmitEvent, useState } from "react";
import { Button } from "../forms/Button";
import { TextField } from "../forms/TextField";
import styles from "./SavedViews.module.css";
import { isSameView, type ReadSearch, useViews, type View } from "./views";

/** A view is the current one when all of its filters are, and no others. */
export const EXACTLY = { exact: true, includeSearch: true };

/** What makes the link of a view look like one. */
export interface ViewLinkProps {
  className: string | undefined;
  "aria-current": "page" | undefined;
  children: ReactNode;
}

interface SavedViewsProps<Search> {
  /** The list that the views are of; what is saved is kept under this name. */
  list: string;
  /** What everybody looks for. */
  builtIn: readonly View<Search>[];
  search: Search;
  read: ReadSearch<Search>;
  /** A link to the list as the view has it. */
  link: (search: Search, props: ViewLinkProps) => ReactElement;
}

/** Lists that are looked at often, a press away; the list as it is can be kept as one more. */
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
              aria-label={`Forget the view ${view.name}`}
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
          Save this view
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
      {/* It appears because someone wants to type a name. */}
      {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
      <TextField label="Name of the view" isLabelHidden placeholder="Name" value={name} onChange={setName} autoFocus />
      <Button type="submit">Save</Button>
      <Button kind="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}
