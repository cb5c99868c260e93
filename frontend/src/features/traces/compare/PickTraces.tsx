import { Link } from "@tanstack/react-router";
import { type ReactElement, type SubmitEvent, useState } from "react";
import { Empty } from "../../../ui/feedback/Empty";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import styles from "./compare.module.css";

interface PickTracesProps {
  base: string;
  other: string;
  onPick: (base: string, other: string) => void;
}

/** Asks for the two traces when the URL does not name them. */
export function PickTraces({ base, other, onPick }: PickTracesProps): ReactElement {
  const [baseId, setBaseId] = useState(base);
  const [otherId, setOtherId] = useState(other);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onPick(baseId.trim(), otherId.trim());
  };
  return (
    <Empty
      title="Which two?"
      actions={
        <Link to="/traces" className={buttonClass()}>
          Pick them in the list
        </Link>
      }
    >
      <p>Two traces of the same prompt show where they part. Mark two rows of the list, or paste their ids here.</p>
      <form onSubmit={submit} className={styles.form}>
        <TextField label="Id of the first" value={baseId} onChange={setBaseId} />
        <TextField label="Id of the second" value={otherId} onChange={setOtherId} />
        <div>
          <Button type="submit" kind="primary" disabled={baseId.trim() === "" || otherId.trim() === ""}>
            Compare them
          </Button>
        </div>
      </form>
    </Empty>
  );
}
