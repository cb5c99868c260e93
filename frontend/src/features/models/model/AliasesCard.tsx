import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { removeAlias, setAlias } from "../queries";
import type { ModelDetail } from "../../../api/schema.gen";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "../models.module.css";

interface AliasesCardProps {
  model: ModelDetail;
  /** The scope of this session. */
  scope: string;
}

/** The aliases of a model. Promoting a version moves an alias to it. */
export function AliasesCard({ model, scope }: AliasesCardProps): ReactElement {
  const aliases = Object.entries(model.aliases ?? {});
  const isAdmin = scope === "admin";
  const rows = aliases.map(([alias, version]) => ({
    key: alias,
    cells: [
      `@${alias}`,
      `${model.name}:${version}`,
      ...(isAdmin ? [<DeleteAlias key="remove" model={model.name} alias={alias} />] : []),
    ],
  }));
  const columns = [{ header: "Alias" }, { header: "Version" }, ...(isAdmin ? [{ header: "Actions" }] : [])];
  return (
    <Card title="Aliases">
      {aliases.length === 0 ? (
        <p>
          An alias points to a version, for example <code>{model.name}@champion</code>. Requests for it use the version
          it points to at that time.
        </p>
      ) : (
        <PlainTable name="Aliases" columns={columns} rows={rows} />
      )}
      {scope === "read" ? null : <SetAlias model={model} />}
    </Card>
  );
}

function SetAlias({ model }: { model: ModelDetail }): ReactElement {
  const newest = String(model.versions[0]?.version ?? "");
  const [alias, setName] = useState("champion");
  const [version, setVersion] = useState(newest);
  const set = useChange(
    () => setAlias(model.name, alias.trim(), Number(version)),
    `@${alias} points to version ${version}`,
  );
  return (
    <form
      className={styles.row}
      onSubmit={(event) => {
        event.preventDefault();
        set.mutate();
      }}
    >
      <TextField label="Alias" value={alias} onChange={setName} />
      <Select
        label="Version"
        value={version}
        choices={model.versions.map((one) => ({
          value: String(one.version),
          label: one.label ? `${one.version} (${one.label})` : String(one.version),
        }))}
        onChange={setVersion}
      />
      <Button type="submit" isBusy={set.isPending} disabled={alias.trim() === ""}>
        Set alias
      </Button>
    </form>
  );
}

function DeleteAlias({ model, alias }: { model: string; alias: string }): ReactElement {
  const remove = useChange(() => removeAlias(model, alias), `Deleted @${alias}`);
  return (
    <Button
      kind="quiet"
      aria-label={`Delete @${alias}`}
      isBusy={remove.isPending}
      onClick={() => {
        remove.mutate();
      }}
    >
      Delete
    </Button>
  );
}

function useChange(change: () => Promise<unknown>, message: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast(message);
    },
    onError: showError,
  });
}
