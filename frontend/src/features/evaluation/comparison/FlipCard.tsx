import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { Comparison, Flip, FlipSide } from "../../../api/schema.gen";
import { VerdictBadge } from "../shared/VerdictBadge";
import { Button } from "../../../ui/forms/Button";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { Diff } from "../../../ui/display/Diff";
import { formatShare, UNKNOWN } from "../../../ui/display/format";
import { MathText } from "../../../ui/markdown/MathText";
import styles from "../evaluations.module.css";

const LOOKS: Record<Flip["direction"], { kind: BadgeKind; sign: string; label: string }> = {
  lost: { kind: "bad", sign: "↓", label: "lost" },
  unscored: { kind: "warn", sign: "?", label: "unscored" },
  gained: { kind: "good", sign: "↑", label: "gained" },
};

/** One item whose verdict changed, with both completions. */
export function FlipCard({ flip, comparison }: { flip: Flip; comparison: Comparison }): ReactElement {
  const [isDiff, setDiff] = useState(false);
  const { kind, sign, label } = LOOKS[flip.direction];
  const hasBoth = flip.base.text != null && flip.other.text != null;
  return (
    <Card title={flip.item_id}>
      <p className={styles.row}>
        <Badge kind={kind} sign={sign}>
          {label}
        </Badge>
        <span className={styles.muted}>
          {flip.section} · {flip.category} · {flip.difficulty}
        </span>
        <span>
          Expected: <MathText text={flip.expected_answer} />
        </span>
        {hasBoth ? (
          <Button
            kind="quiet"
            aria-pressed={isDiff}
            onClick={() => {
              setDiff(!isDiff);
            }}
          >
            Show diff
          </Button>
        ) : null}
      </p>
      <MathText text={flip.prompt} />
      {isDiff ? (
        <Diff before={flip.base.text ?? ""} after={flip.other.text ?? ""} />
      ) : (
        <div className={styles.sides}>
          <Side side={flip.base} name={comparison.base_name} evaluationId={comparison.base_id} itemId={flip.item_id} />
          <Side
            side={flip.other}
            name={comparison.other_name}
            evaluationId={comparison.other_id}
            itemId={flip.item_id}
          />
        </div>
      )}
    </Card>
  );
}

interface SideProps {
  side: FlipSide;
  name: string;
  evaluationId: string;
  itemId: string;
}

function Side({ side, name, evaluationId, itemId }: SideProps): ReactElement {
  const isPartial = side.share_right != null && side.share_right > 0 && side.share_right < 1;
  return (
    <div className={styles.side}>
      <p className={styles.row}>
        <VerdictBadge verdict={side.verdict} />
        <Link to="/evaluations/$evaluationId/items/$itemId" params={{ evaluationId, itemId }} search={{}}>
          {name}
        </Link>
        {isPartial ? <span>{formatShare(side.share_right)} of its samples correct</span> : null}
      </p>
      <p>
        Answer: <strong>{side.answer ?? UNKNOWN}</strong>
        <span className={styles.muted}>
          {side.rule ? ` extracted by ${side.rule};` : ""} {side.explanation}
        </span>
      </p>
      {/* A scrollable region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={styles.raw} tabIndex={0} role="region" aria-label={`Completion of ${name} for ${itemId}`}>
        {side.text ?? "no completion"}
      </pre>
    </div>
  );
}
