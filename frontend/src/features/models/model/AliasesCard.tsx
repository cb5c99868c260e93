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
  /** What this browser may do. */
  scope: string;
}

/** The names that move from version to version: promoting a model is moving one. */
export function AliasesCard({ model, scope }: AliasesCardProps): ReactElement {
  const aliases = Object.entries(model.aliases ?? {});
  const isAdmin = scope === "admin";
  const rows = aliases.map(([alias, version]) => ({
    key: alias,
    cells: [
      `@${alias}`,
      `${model.name}:${version}`,
      ...(isAdmin ? [<Forget key="forget" model={model.name} alias={alias} />] : []),
    ],
  }));
  const columns = [{ header: "Alias" }, { header: "Means" }, ...(isAdmin ? [{ header: "Act" }] : [])];
  return (
    <Card title="Aliases">
      {aliases.length === 0 ? (
        <p>
          An alias says which version counts, as <code>{model.name}@champion</code>. Whoever asks by it gets the version
          that it means then.
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
  const set = useChange(() => setAlias(model.name, alias.trim(), Number(version)), `@${alias} means ${version}`);
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
        Let it mean this version
      </Button>
    </form>
  );
}

function Forget({ model, alias }: { model: string; alias: string }): ReactElement {
  const forget = useChange(() => removeAlias(model, alias), `@${alias} is forgotten`);
  return (
    <Button
      kind="quiet"
      aria-label={`Forget @${alias}`}
      isBusy={forget.isPending}
      onClick={() => {
        forget.mutate();
      }}
    >
      Forget
    </Button>
  );
}

function useChange(act: () => Promise<unknown>, told: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast(told);
    },
    onError: showError,
  });
}
