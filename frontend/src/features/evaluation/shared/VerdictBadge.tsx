import type { ReactElement } from "react";
import type { Judgement } from "../../../api/schema.gen";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";

export const VERDICTS = ["correct", "wrong", "no-answer", "unscored"] as const satisfies Judgement["verdict"][];

const LOOKS: Record<Judgement["verdict"], { kind: BadgeKind; sign: string; label: string }> = {
  correct: { kind: "good", sign: "✓", label: "correct" },
  wrong: { kind: "bad", sign: "✗", label: "wrong" },
  "no-answer": { kind: "bad", sign: "∅", label: "no answer" },
  unscored: { kind: "warn", sign: "?", label: "unscored" },
};

/** The verdict on an answer. */
export function VerdictBadge({ verdict }: { verdict: Judgement["verdict"] }): ReactElement {
  const { kind, sign, label } = LOOKS[verdict];
  return (
    <Badge kind={kind} sign={sign}>
      {label}
    </Badge>
  );
}

export function verdictLabel(verdict: Judgement["verdict"]): string {
  return LOOKS[verdict].label;
}
