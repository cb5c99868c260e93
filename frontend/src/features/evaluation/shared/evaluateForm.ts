import type { EvaluateModel } from "../../../api/schema.gen";

/** What a person fills in; numbers are text until they are sent. */
export interface EvaluationForm {
  model: string;
  evalSet: string;
  maxNewTokens: string;
  limit: string;
  isLenient: boolean;
}

/** As `tunix-rt eval` has it when nothing else is said. */
export const FIRST_FORM = { evalSet: "eval_v2", maxNewTokens: "512", limit: "", isLenient: false };

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

/** The same as a command. */
export function evaluateCommand(form: EvaluationForm, quoted: (text: string) => string): string {
  const words = [`tunix-rt eval ${quoted(form.model || "MODEL")} --eval-set ${quoted(form.evalSet)}`];
  if (form.maxNewTokens !== FIRST_FORM.maxNewTokens) words.push(`--max-new-tokens ${form.maxNewTokens}`);
  if (form.limit !== "") words.push(`--limit ${form.limit}`);
  if (form.isLenient) words.push("--lenient");
  return words.join(" ");
}
