import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import type { EvalSetSummary, EvaluateModel } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { shellQuoted } from "../../../ui/copy/snippets";
import { formatCount } from "../../../ui/display/format";
import { Dialog } from "../../../ui/feedback/Dialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { evalSetNamesQuery } from "../../runs/shared/plans";
import { submitTask } from "../../runs/shared/tasks";
import styles from "../../runs/shared/tasks.module.css";
import { servedModelsQuery } from "../../serving/queries";

interface EvaluateDialogProps {
  /** `name:version` or a run id. If omitted, the dialog asks for it. */
  model?: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Queues an evaluation with a model, an eval set and limits. */
export function EvaluateDialog({ model, isOpen, onClose }: EvaluateDialogProps): ReactElement {
  return (
    <Dialog title={model === undefined ? "Evaluate a model" : `Evaluate ${model}`} isOpen={isOpen} onClose={onClose}>
      <EvaluateForm model={model} onDone={onClose} />
    </Dialog>
  );
}

function EvaluateForm({ model, onDone }: { model: string | undefined; onDone: () => void }): ReactElement {
  const [form, setForm] = useState<EvaluationForm>({ ...DEFAULT_FORM, model: model ?? "" });
  const ask = useQueueEvaluation(onDone);
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
      {ask.isError ? <ErrorNotice error={ask.error} title="The evaluation was not queued" /> : null}
      <p className={styles.muted}>A worker picks it up as soon as it has a free slot. Equivalent command:</p>
      <Command>{evaluateCommand(form, shellQuoted)}</Command>
      <div>
        <Button
          type="submit"
          kind="primary"
          isBusy={ask.isPending}
          disabled={form.model === "" || form.evalSet === "" || form.maxNewTokens === ""}
        >
          Start evaluation
        </Button>
      </div>
    </form>
  );
}

interface FormSectionProps {
  form: EvaluationForm;
  onChange: (changes: Partial<EvaluationForm>) => void;
}

function ModelChoice({ form, onChange }: FormSectionProps): ReactElement {
  const models = useQuery(servedModelsQuery);
  const names = (models.data ?? []).map(({ id }) => ({ value: id, label: id }));
  return (
    <Select
      label="Model"
      help="registered versions, aliases and finished runs"
      value={form.model}
      choices={form.model === "" ? [{ value: "", label: "Choose a model" }, ...names] : names}
      onChange={(model) => {
        onChange({ model });
      }}
    />
  );
}

function EvalSetChoice({ form, onChange }: FormSectionProps): ReactElement {
  const sets = useQuery(evalSetNamesQuery);
  const found = (sets.data?.data ?? []).filter(({ is_valid }) => is_valid);
  return (
    <Select
      label="Eval set"
      help="scores are comparable on the same eval set with the same limits"
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

function Limits({ form, onChange }: FormSectionProps): ReactElement {
  return (
    <>
      <div className={styles.limits}>
        <TextField
          label="Max new tokens"
          help="longer answers are truncated"
          type="number"
          min={1}
          max={131_072}
          value={form.maxNewTokens}
          onChange={(maxNewTokens) => {
            onChange({ maxNewTokens });
          }}
        />
        <TextField
          label="Question limit"
          help="all if empty"
          type="number"
          min={1}
          value={form.limit}
          onChange={(limit) => {
            onChange({ limit });
          }}
        />
      </div>
      <Checkbox
        label="Also extract answers outside the requested format, counted separately"
        isChecked={form.isLenient}
        onChange={(isLenient) => {
          onChange({ isLenient });
        }}
      />
    </>
  );
}

function useQueueEvaluation(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (form: EvaluationForm) => submitTask(requestOf(form)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["tasks"] });
      showToast("Evaluation queued.");
      onDone();
    },
  });
}

/** The form state. Numbers are kept as text until submitted. */
interface EvaluationForm {
  model: string;
  evalSet: string;
  maxNewTokens: string;
  limit: string;
  isLenient: boolean;
}

/** The defaults of `tunix-rt eval`. */
const DEFAULT_FORM = { evalSet: "eval_v2", maxNewTokens: "512", limit: "", isLenient: false };

function requestOf({ model, evalSet, maxNewTokens, limit, isLenient }: EvaluationForm): EvaluateModel {
  return {
    kind: "evaluation",
    model,
    eval_set: evalSet,
    decoding: { max_new_tokens: Number(maxNewTokens) },
    is_lenient: isLenient,
    ...(limit === "" ? {} : { limit: Number(limit) }),
  };
}

/** The equivalent command. */
function evaluateCommand(form: EvaluationForm, quoted: (text: string) => string): string {
  const words = [`tunix-rt eval ${quoted(form.model || "MODEL")} --eval-set ${quoted(form.evalSet)}`];
  if (form.maxNewTokens !== DEFAULT_FORM.maxNewTokens) words.push(`--max-new-tokens ${form.maxNewTokens}`);
  if (form.limit !== "") words.push(`--limit ${form.limit}`);
  if (form.isLenient) words.push("--lenient");
  return words.join(" ");
}
