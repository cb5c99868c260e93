import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { promoteBest } from "../queries";
import { Button } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "../sweeps.module.css";

/** Registers the model of the best trial. */
export function PromoteForm({ jobId }: { jobId: string }): ReactElement {
  const queryClient = useQueryClient();
  const [model, setModel] = useState("");
  const [alias, setAlias] = useState("");
  const promote = useMutation({
    mutationFn: () => promoteBest(jobId, { model: model.trim(), ...(alias.trim() !== "" && { alias: alias.trim() }) }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["models"] }),
  });
  return (
    <Card title="Register model">
      <form
        className={styles.row}
        onSubmit={(event) => {
          event.preventDefault();
          promote.mutate();
        }}
      >
        <TextField
          label="Model name"
          autoComplete="off"
          value={model}
          onChange={setModel}
          error={promote.isError ? promote.error.message : null}
        />
        <TextField label="Alias" placeholder="champion" autoComplete="off" value={alias} onChange={setAlias} />
        <Button type="submit" isBusy={promote.isPending} disabled={model.trim() === ""}>
          Register
        </Button>
      </form>
      {promote.isSuccess ? (
        <p role="status">
          Registered:{" "}
          <Link to="/models/versions/$versionId" params={{ versionId: promote.data.id }}>
            {promote.data.model}, version {promote.data.version}
          </Link>
        </p>
      ) : null}
    </Card>
  );
}
