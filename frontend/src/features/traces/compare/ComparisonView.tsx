import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { AlignedStep, StoredComparison, TraceDetail } from "../../../api/schema.gen";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatCount, formatShare } from "../../../ui/display/format";
import styles from "./compare.module.css";
import { ScoreBadge } from "../parts/ScoreBadge";
import { shortId } from "../parts/labels";
import { SideBySide } from "./SideBySide";

const KINDS: Record<AlignedStep["kind"], { kind: BadgeKind; sign: string; label: string }> = {
  same: { kind: "neutral", sign: "=", label: "same" },
  changed: { kind: "warn", sign: "≠", label: "changed" },
  added: { kind: "good", sign: "+", label: "only in the second" },
  removed: { kind: "bad", sign: "−", label: "only in the first" },
};

/** What two traces have in common, and where they diverge. */
export function ComparisonView({ base, other, comparison }: StoredComparison): ReactElement {
  const { same_prompt, same_answer, num_same_steps, first_difference, steps } = comparison;
  const facts = {
    Prompt: same_prompt ? "the same" : "differs",
    "Final answer": same_answer ? "the same" : "differs",
    "Matching steps": `${num_same_steps} of ${steps.length} lines`,
    "First difference":
      first_difference === null ? "none" : <a href={`#line-${first_difference}`}>line {first_difference + 1}</a>,
  };
  return (
    <>
      <Facts facts={facts} />
      <div className={styles.sides}>
        <Side name="First" trace={base} />
        <Side name="Second" trace={other} />
      </div>
      <Card title="Prompt">
        <SideBySide before={base.payload.prompt} after={other.payload.prompt} />
      </Card>
      <ol className={styles.lines} aria-label="Aligned steps">
        {steps.map((line, index) => (
          <li key={index} id={`line-${index}`}>
            <Line line={line} number={index + 1} />
          </li>
        ))}
      </ol>
      <Card title="Final answer">
        <SideBySide before={base.payload.final_answer} after={other.payload.final_answer} />
      </Card>
    </>
  );
}

function Side({ name, trace }: { name: string; trace: TraceDetail }): ReactElement {
  return (
    <p className={styles.side}>
      <strong>{name}</strong>
      <Link to="/traces/$traceId" params={{ traceId: trace.id }}>
        {shortId(trace.id)}
      </Link>
      <ScoreBadge score={trace.score} />
      <span>{formatCount(trace.payload.steps.length, "step")}</span>
    </p>
  );
}

function Line({ line, number }: { line: AlignedStep; number: number }): ReactElement {
  const { kind, sign, label } = KINDS[line.kind];
  return (
    <section className={styles.line} aria-label={`Line ${number}: ${label}`}>
      <header className={styles.side}>
        <h2>Line {number}</h2>
        <Badge kind={kind} sign={sign}>
          {label}
        </Badge>
        {line.kind === "changed" ? <span>{formatShare(line.similarity, 0)} word overlap</span> : null}
      </header>
      <SideBySide before={line.base?.content ?? null} after={line.other?.content ?? null} />
    </section>
  );
}
