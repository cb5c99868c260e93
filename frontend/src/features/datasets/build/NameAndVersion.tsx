import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { datasetChoicesQuery } from "../queries";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "./build.module.css";
import type { BuildStepProps } from "./ChooseTraces";
import { DEFAULT_VERSION } from "./form";

/** The key of the dataset and its parent. */
export function NameAndVersion({ form, errors, onChange }: BuildStepProps): ReactElement {
  const { data } = useQuery(datasetChoicesQuery);
  const keys = new Set((data?.data ?? []).map(({ dataset_key }) => dataset_key));
  if (form.parent !== undefined) keys.add(form.parent);
  const parents = [{ value: "", label: "none" }, ...[...keys].map((key) => ({ value: key, label: key }))];
  const text = (key: "name" | "version" | "license", label: string, help: string, placeholder: string) => (
    <TextField
      label={label}
      help={help}
      placeholder={placeholder}
      error={errors[key]}
      value={form[key] ?? ""}
      onChange={(value) => {
        onChange({ [key]: value });
      }}
    />
  );
  return (
    <Card title="3. Name and version">
      <div className={styles.fields}>
        {text("name", "Name", "the dataset key is NAME-VERSION", "my-traces")}
        {text("version", "Version", "datasets are immutable; the next version is v2", DEFAULT_VERSION)}
        <Select
          label="Parent"
          value={form.parent ?? ""}
          choices={parents}
          onChange={(parent) => {
            onChange({ parent });
          }}
        />
        {text("license", "Licence", "SPDX identifier, shown in the dataset card", "unknown")}
      </div>
    </Card>
  );
}
