import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { servedModelsQuery } from "../../serving/queries";
import { evalSetNamesQuery } from "../../runs/launch/plans";
import type { EvalSetSummary } from "../../../api/schema.gen";
import { askForTask } from "../../runs/shared/tasks";
import { Command } from "../../../ui/copy/Command";
import { shellQuoted } from "../../../ui/copy/snippets";
import { Dialog } from "../../../ui/feedback/Dialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { formatCount } from "../../../ui/display/format";
import { evaluateCommand, type EvaluationForm, FIRST_FORM, requestOf } from "./evaluateForm";
import styles from "../../runs/shared/tasks.module.css";

interface EvaluateDialogProps {
  /** `name:version` or the id of a run. Left out: it is chosen here. */
  model?: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Puts an evaluation into the queue: which model, which questions, within which limits. */
export function EvaluateDialog({ model, isOpen, onClose }: EvaluateDialogProps): ReactElement {
  return (
    <Dialog title={model === undefined ? "Evaluate a model" : `Evaluate ${model}`} isOpen={isOpen} onClose={onClose}>
      <EvaluateForm model={model} onDone={onClose} />
    </Dialog>
  );
}

function EvaluateForm({ model, onDone }: { model: string | undefined; onDone: () => void }): ReactElement {
  const [form, setForm] = useState<EvaluationForm>({ ...FIRST_FORM, model: model ?? "" });
  const ask = useAsking(onDone);
  const change = (changes: Partial<EvaluationForm>): void => {
    setForm({ ...form, ...changes });
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        ask.mutate(form);
      }}
    >
      {model === undefined ? <ModelChoice form={form} onChange={change} /> : null}
      <EvalSetChoice form={form} onChange={change} />
      <Limits form={form} onChange={change} />
      {ask.isError ? <ErrorNotice error={ask.error} title="It was not taken" /> : null}
      <p className={styles.muted}>A worker takes it as soon as it has a free slot. The same as a command:</p>
      <Command>{evaluateCommand(form, shellQuoted)}</Command>
      <div>
        <Button
          type="submit"
          kind="primary"
          isBusy={ask.isPending}
          disabled={form.model === "" || form.evalSet === "" || form.maxNewTokens === ""}
        >
          Start the evaluation
        </Button>
      </div>
    </form>
  );
}

interface PartProps {
  form: EvaluationForm;
  onChange: (changes: Partial<EvaluationForm>) => void;
}

function ModelChoice({ form, onChange }: PartProps): ReactElement {
  const models = useQuery(servedModelsQuery);
  const names = (models.data ?? []).map(({ id }) => ({ value: id, label: id }));
  return (
    <Select
      label="Model"
      help="registered versions, their aliases and finished runs"
      value={form.model}
      choices={form.model === "" ? [{ value: "", label: "Choose a model" }, ...names] : names}
      onChange={(model) => {
        onChange({ model });
      }}
    />
  );
}

function EvalSetChoice({ form, onChange }: PartProps): ReactElement {
  const sets = useQuery(evalSetNamesQuery);
  const found = (sets.data?.data ?? []).filter(({ is_valid }) => is_valid);
  return (
    <Select
      label="Eval set"
      help="the questions; scores are comparable on the same set with the same limits"
      value={form.evalSet}
      choices={found.length === 0 ? [{ value: form.evalSet, label: form.evalSet }] : found.map(choiceOf)}
      onChange={(evalSet) => {
        onChange({ evalSet });
      }}
    />
  );
}

function choiceOf({ name, num_items }: EvalSetSummary): { value: string; label: string } {
  return { value: name, label: `${name}: ${formatCount(num_items, "question")}` };
}

function Limits({ form, onChange }: PartProps): ReactElement {
  return (
    <>
      <div className={styles.limits}>
        <TextField
          label="Tokens per answer"
          help="longer answers are cut off"
          type="number"
          min={1}
          max={131_072}
          value={form.maxNewTokens}
          onChange={(maxNewTokens) => {
            onChange({ maxNewTokens });
          }}
        />
        <TextField
          label="Only the first questions"
          help="empty: all of them"
          type="number"
          min={1}
          value={form.limit}
          onChange={(limit) => {
            onChange({ limit });
          }}
        />
      </div>
      <Checkbox
        label="Also look for answers outside the asked form, counted apart"
        isChecked={form.isLenient}
        onChange={(isLenient) => {
          onChange({ isLenient });
        }}
      />
    </>
  );
}

function useAsking(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (form: EvaluationForm) => askForTask(requestOf(form)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["tasks"] });
      showToast("The evaluation is in the queue.");
      onDone();
    },
  });
}
