import { Link } from "@tanstack/react-router";
import { type SubmitEvent, type ReactElement, useState } from "react";
import { Button } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import type { TraceSearch } from "./filters";
import styles from "./list.module.css";
import { BUILT_IN, isSameView, useViews, type View } from "./views";

/** Lists that are looked at often, a press away; the list as it is can be kept as one more. */
export function SavedViews({ search }: { search: TraceSearch }): ReactElement {
  const { views, save, remove } = useViews();
  const [isNaming, setNaming] = useState(false);
  const isKnown = [...BUILT_IN, ...views].some((view) => isSameView(view.search, search));
  return (
    <nav aria-label="Views" className={styles.views}>
      <ul>
        {BUILT_IN.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} search={search} />
          </li>
        ))}
        {views.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} search={search} />
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

function ViewLink({ view, search }: { view: View; search: TraceSearch }): ReactElement {
  const isCurrent = isSameView(view.search, search);
  return (
    <Link to="/traces" search={view.search} className={styles.view} aria-current={isCurrent ? "page" : undefined}>
      {view.name}
    </Link>
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
