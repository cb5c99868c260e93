import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { evaluationQuery, newestEvaluationsQuery } from "../queries";
import type { EvaluationSummary } from "../../../api/schema.gen";
import { Select } from "../../../ui/forms/Select";
import { evaluationLabel, modelName, shortId } from "./format";

interface EvaluationPickerProps {
  label: string;
  help?: string;
  /** An evaluation id, or an empty string. */
  value: string;
  onChange: (evaluationId: string) => void;
  /** Restricts the choices. */
  fits?: (evaluation: EvaluationSummary) => boolean;
}

/** A select of the newest evaluations. An older selected one stays in the list. */
export function EvaluationPicker({
  label,
  help,
  value,
  onChange,
  fits = () => true,
}: EvaluationPickerProps): ReactElement {
  const newest = useQuery(newestEvaluationsQuery);
  const found = (newest.data?.data ?? []).filter((one) => fits(one) || one.evaluation_id === value);
  const isOlder = value !== "" && newest.isSuccess && !found.some(({ evaluation_id }) => evaluation_id === value);
  const older = useQuery({ ...evaluationQuery(value), enabled: isOlder, retry: false });
  const olderLabel = older.data ? `${modelName(older.data.model)} on ${older.data.evalset}` : "unknown evaluation";
  const choices = [
    ...(value === "" ? [{ value: "", label: newest.isPending ? "Loading evaluations…" : "Choose an evaluation" }] : []),
    ...(isOlder ? [{ value, label: `${olderLabel} (${shortId(value)})` }] : []),
    ...found.map((one) => ({ value: one.evaluation_id, label: evaluationLabel(one) })),
  ];
  return (
    <Select label={label} value={value} choices={choices} onChange={onChange} {...(help !== undefined && { help })} />
  );
}
