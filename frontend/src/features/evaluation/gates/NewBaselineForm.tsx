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
  categories: string[];
  /** As they are typed: an id a line. */
  items: string;
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
          change({ evaluationId: id, sections: [], categories: [] });
        }}
      />
      <Tolerance draft={draft} change={change} />
      <ProtectedParts draft={draft} change={change} />
      <div className={styles.row}>
        <Button type="submit" kind="primary" isBusy={save.isPending} disabled={!isComplete}>
          Save the baseline
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </form>
  );
}

interface PartProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
}

/** What may happen without failing the gate. */
function Tolerance({ draft, change }: PartProps): ReactElement {
  return (
    <>
      <TextField
        label="Alpha: how rarely chance may explain a loss"
        help="0.05 is one time in twenty. A loss whose p is smaller fails the gate."
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
    </>
  );
}

/** What must stay right: sections and categories that the evaluation has, and single items. */
function ProtectedParts({ draft, change }: PartProps): ReactElement {
  const { evaluationId } = draft;
  const { data } = useQuery({ ...evaluationQuery(evaluationId), enabled: evaluationId !== "" });
  return (
    <>
      <Protected
        label="What is right in these sections must stay right"
        names={Object.keys(data?.scores.by_section ?? {})}
        values={draft.sections}
        onChange={(sections) => {
          change({ sections });
        }}
      />
      <Protected
        label="And in these categories"
        names={Object.keys(data?.scores.by_category ?? {})}
        values={draft.categories}
        onChange={(categories) => {
          change({ categories });
        }}
      />
      <TextArea
        label="Items that must stay right"
        help="An id of the eval set a line. Losing one of them fails the gate, however much is gained elsewhere."
        rows={3}
        value={draft.items}
        onChange={(items) => {
          change({ items });
        }}
      />
    </>
  );
}

interface ProtectedProps {
  label: string;
  names: readonly string[];
  values: readonly string[];
  onChange: (values: string[]) => void;
}

function Protected({ label, names, values, onChange }: ProtectedProps): ReactElement | null {
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
      showToast(`Saved the baseline ${name}.`);
      await navigate({ to: "/gates/$name", params: { name } });
    },
    onError: showError,
  });
}
