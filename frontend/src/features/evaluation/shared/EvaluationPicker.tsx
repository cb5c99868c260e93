import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { evaluationQuery, newestEvaluationsQuery } from "../queries";
import type { EvaluationSummary } from "../../../api/schema.gen";
import { Select } from "../../../ui/forms/Select";
import { evaluationLabel, modelName, shortId } from "./words";

interface EvaluationPickerProps {
  label: string;
  help?: string;
  /** An id; empty: none is chosen yet. */
  value: string;
  onChange: (evaluationId: string) => void;
  /** Which of them may be chosen. */
  fits?: (evaluation: EvaluationSummary) => boolean;
}

/** One of the newest evaluations; an older one that is chosen already stays in the list. */
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
    ...(value === ""
      ? [{ value: "", label: newest.isPending ? "Reading the evaluations…" : "Choose an evaluation" }]
      : []),
    ...(isOlder ? [{ value, label: `${olderLabel} (${shortId(value)})` }] : []),
    ...found.map((one) => ({ value: one.evaluation_id, label: evaluationLabel(one) })),
  ];
  return (
    <Select label={label} value={value} choices={choices} onChange={onChange} {...(help !== undefined && { help })} />
  );
}
