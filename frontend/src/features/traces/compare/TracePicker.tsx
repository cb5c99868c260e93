import { Link } from "@tanstack/react-router";
import { type ReactElement, type SubmitEvent, useState } from "react";
import { Empty } from "../../../ui/feedback/Empty";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import styles from "./compare.module.css";

interface TracePickerProps {
  base: string;
  other: string;
  onPick: (base: string, other: string) => void;
}

/** Asks for two traces when the URL does not name them. */
export function TracePicker({ base, other, onPick }: TracePickerProps): ReactElement {
  const [baseId, setBaseId] = useState(base);
  const [otherId, setOtherId] = useState(other);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onPick(baseId.trim(), otherId.trim());
  };
  return (
    <Empty
      title="Choose two traces"
      actions={
        <Link to="/traces" className={buttonClass()}>
          Choose from the list
        </Link>
      }
    >
      <p>
        Comparing two traces of the same prompt shows where they diverge. Select two rows in the list, or paste the
        trace ids here.
      </p>
      <form onSubmit={submit} className={styles.form}>
        <TextField label="First trace id" value={baseId} onChange={setBaseId} />
        <TextField label="Second trace id" value={otherId} onChange={setOtherId} />
        <div>
          <Button type="submit" kind="primary" disabled={baseId.trim() === "" || otherId.trim() === ""}>
            Compare
          </Button>
        </div>
      </form>
    </Empty>
  );
}
