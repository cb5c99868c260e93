import type { EvaluateModel } from "../../../api/schema.gen";

/** The form state. Numbers are kept as text until submitted. */
export interface EvaluationForm {
  model: string;
  evalSet: string;
  maxNewTokens: string;
  limit: string;
  isLenient: boolean;
}

/** The defaults of `tunix-rt eval`. */
export const DEFAULT_FORM = { evalSet: "eval_v2", maxNewTokens: "512", limit: "", isLenient: false };

export function requestOf({ model, evalSet, maxNewTokens, limit, isLenient }: EvaluationForm): EvaluateModel {
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
export function evaluateCommand(form: EvaluationForm, quoted: (text: string) => string): string {
  const words = [`tunix-rt eval ${quoted(form.model || "MODEL")} --eval-set ${quoted(form.evalSet)}`];
  if (form.maxNewTokens !== DEFAULT_FORM.maxNewTokens) words.push(`--max-new-tokens ${form.maxNewTokens}`);
  if (form.limit !== "") words.push(`--limit ${form.limit}`);
  if (form.isLenient) words.push("--lenient");
  return words.join(" ");
}
