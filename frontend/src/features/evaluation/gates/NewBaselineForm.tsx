import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { evaluationQuery } from "../queries";
import { setBaseline } from "./queries";
import type { GateRule } from "../../../api/schema.gen";
import { EvaluationPicker } from "../shared/EvaluationPicker";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { CheckboxGroup } from "../../../ui/forms/CheckboxGroup";
import { TextArea } from "../../../ui/forms/TextArea";
import { TextField } from "../../../ui/forms/TextField";
import styles from "./gates.module.css";

interface NewBaselineFormProps {
  /** The preselected evaluation, or an empty string. */
  evaluationId: string;
  onClose: () => void;
}

interface Draft {
  name: string;
  evaluationId: string;
  alpha: string;
  maxUnscored: string;
  sections: string[];
  categories: string[];
  /** As typed, one id per line. */
  items: string;
}

const PERCENT = 100;

/** Saves an evaluation as a baseline with the rule for later ones. */
export function NewBaselineForm({ evaluationId, onClose }: NewBaselineFormProps): ReactElement {
  const [draft, setDraft] = useState<Draft>({
    name: "main",
    evaluationId,
    alpha: "0.05",
    maxUnscored: "0",
    sections: [],
    categories: [],
    items: "",
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
        help="An existing name is reassigned to this evaluation."
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
          change({ evaluationId: id, sections: [], categories: [] });
        }}
      />
      <Tolerance draft={draft} change={change} />
      <ProtectedParts draft={draft} change={change} />
      <div className={styles.row}>
        <Button type="submit" kind="primary" isBusy={save.isPending} disabled={!isComplete}>
          Save baseline
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </form>
  );
}

interface FormSectionProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
}

/** The tolerances of the gate. */
function Tolerance({ draft, change }: FormSectionProps): ReactElement {
  return (
    <>
      <TextField
        label="Alpha (significance level)"
        help="A loss with a smaller p-value fails the gate. 0.05 accepts a false alarm one time in twenty."
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
        label="Max unscored items, in %"
        help="Limits unscored items, so that failures cannot hide losses."
        type="number"
        min={0}
        max={100}
        step="any"
        value={draft.maxUnscored}
        onChange={(maxUnscored) => {
          change({ maxUnscored });
        }}
      />
    </>
  );
}

/** What must stay correct: sections, categories and single items. */
function ProtectedParts({ draft, change }: FormSectionProps): ReactElement {
  const { evaluationId } = draft;
  const { data } = useQuery({ ...evaluationQuery(evaluationId), enabled: evaluationId !== "" });
  return (
    <>
      <ProtectedGroup
        label="Protected sections"
        names={Object.keys(data?.scores.by_section ?? {})}
        values={draft.sections}
        onChange={(sections) => {
          change({ sections });
        }}
      />
      <ProtectedGroup
        label="Protected categories"
        names={Object.keys(data?.scores.by_category ?? {})}
        values={draft.categories}
        onChange={(categories) => {
          change({ categories });
        }}
      />
      <TextArea
        label="Protected items"
        help="One item id per line. Losing any of them fails the gate, regardless of gains elsewhere."
        rows={3}
        value={draft.items}
        onChange={(items) => {
          change({ items });
        }}
      />
    </>
  );
}

interface ProtectedGroupProps {
  label: string;
  names: readonly string[];
  values: readonly string[];
  onChange: (values: string[]) => void;
}

function ProtectedGroup({ label, names, values, onChange }: ProtectedGroupProps): ReactElement | null {
  if (names.length === 0) return null;
  const choices = names.map((name) => ({ value: name, label: name }));
  return <CheckboxGroup label={label} choices={choices} values={values} onChange={onChange} />;
}

function ruleOf({ alpha, maxUnscored, sections, categories, items }: Draft): GateRule {
  const ids = items.split("\n").map((id) => id.trim());
  return {
    alpha: Number(alpha),
    max_unscored: Number(maxUnscored) / PERCENT,
    protected_sections: sections,
    protected_categories: categories,
    protected_items: [...new Set(ids)].filter((id) => id !== ""),
  };
}

function useSave(draft: Draft) {
  const { name, evaluationId } = draft;
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => setBaseline({ name, evaluation_id: evaluationId, rule: ruleOf(draft) }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["gates"] });
      showToast(`Saved baseline ${name}.`);
      await navigate({ to: "/gates/$name", params: { name } });
    },
    onError: showError,
  });
}
