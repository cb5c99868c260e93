import type { ReactElement } from "react";
import { Badge } from "../../../ui/display/Badge";
import { formatNumber } from "../../../ui/display/format";

const GOOD_FROM = 90;
const FAIR_FROM = 50;

/** The linter's score from 0 to 100. */
export function ScoreBadge({ score }: { score: number | null | undefined }): ReactElement {
  if (score === null || score === undefined) return <Badge>not linted</Badge>;
  const text = formatNumber(score, 1);
  if (score >= GOOD_FROM) {
    return (
      <Badge kind="good" sign="✓">
        {text}
      </Badge>
    );
  }
  return (
    <Badge kind={score >= FAIR_FROM ? "warn" : "bad"} sign={score >= FAIR_FROM ? "!" : "✗"}>
      {text}
    </Badge>
  );
}
