import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { evaluationQuery } from "../../api/evaluations";
import { setBaseline } from "../../api/gates";
import { EvaluationPicker } from "../../ui/evaluations/EvaluationPicker";
import { showError, showToast } from "../../ui/feedback/toasts";
import { Button } from "../../ui/forms/Button";
import { CheckboxGroup } from "../../ui/forms/CheckboxGroup";
import { TextField } from "../../ui/forms/TextField";
import styles from "./gates.module.css";

interface NewBaselineFormProps {
  /** Chosen already; empty: to be chosen. */
  evaluationId: string;
  onClose: () => void;
}

interface Draft {
  name: string;
  evaluationId: string;
  alpha: string;
  maxUnscored: string;
  sections: string[];
}

const PERCENT = 100;

/** Name an evaluation and say what later ones must not do. */
export function NewBaselineForm({ evaluationId, onClose }: NewBaselineFormProps): ReactElement {
  const [draft, setDraft] = useState<Draft>({
    name: "main",
    evaluationId,
    alpha: "0.05",
    maxUnscored: "0",
    sections: [],
  });
  const change = (changes: Partial<Draft>): void => {
    setDraft({ ...draft, ...changes });
  };
  const save = useSave(draft);
  const isComplete = draft.name !== "" && draft.evaluationId !== "";
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <TextField
        label="Name"
        help="A name that is taken moves to this evaluation."
        required
        value={draft.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      <EvaluationPicker
        label="Evaluation"
        value={draft.evaluationId}
        onChange={(id) => {
          change({ evaluationId: id, sections: [] });
        }}
      />
      <TextField
        label="Alpha"
        help="A loss with a smaller p fails the gate."
        type="number"
        min={0.0001}
        max={0.9999}
        step="any"
        value={draft.alpha}
        onChange={(alpha) => {
          change({ alpha });
        }}
      />
      <TextField
        label="Items that may lack a verdict, in %"
        help="Failures must not hide losses."
        type="number"
        min={0}
        max={100}
        step="any"
        value={draft.maxUnscored}
        onChange={(maxUnscored) => {
          change({ maxUnscored });
        }}
      />
      <ProtectedSections
        evaluationId={draft.evaluationId}
        sections={draft.sections}
        onChange={(sections) => {
          change({ sections });
        }}
      />
      <div className={styles.row}>
        <Button type="submit" kind="primary" isBusy={save.isPending} disabled={!isComplete}>
          Save the baseline
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </form>
  );
}

interface ProtectedSectionsProps {
  evaluationId: string;
  sections: readonly string[];
  onChange: (sections: string[]) => void;
}

function ProtectedSections({ evaluationId, sections, onChange }: ProtectedSectionsProps): ReactElement | null {
  const evaluation = useQuery({ ...evaluationQuery(evaluationId), enabled: evaluationId !== "" });
  const names = Object.keys(evaluation.data?.scores.by_section ?? {});
  if (names.length === 0) return null;
  const choices = names.map((name) => ({ value: name, label: name }));
  return (
    <CheckboxGroup
      label="What is right in these sections must stay right"
      choices={choices}
      values={sections}
      onChange={onChange}
    />
  );
}

function useSave({ name, evaluationId, alpha, maxUnscored, sections }: Draft) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () =>
      setBaseline({
        name,
        evaluation_id: evaluationId,
        rule: { alpha: Number(alpha), max_unscored: Number(maxUnscored) / PERCENT, protected_sections: sections },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["gates"] });
      showToast(`Saved the baseline ${name}.`);
      await navigate({ to: "/gates/$name", params: { name } });
    },
    onError: showError,
  });
}
