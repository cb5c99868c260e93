import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { verifyEvidence, type VerifyProgress } from "./queries";
import type { Check, EvidenceVerdict } from "../../api/schema.gen";
import { PlainTable, Sentence } from "../../ui/tables/PlainTable";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { Badge, type BadgeKind } from "../../ui/display/Badge";
import { Card } from "../../ui/display/Card";
import { formatBytes, formatCount, formatTime } from "../../ui/display/format";
import styles from "./evidence.module.css";

/** What a pass of each check means. */
const MEANINGS: Record<Check["name"], string> = {
  container: "It can be opened, and holds plain files only",
  manifest: "Its list of files is whole and of a known version",
  files: "Every file is there, with the bytes that were packed",
  sums: "SHA256SUMS says the same",
  complete: "Nothing that proves the run is missing",
  contents: "Every file follows its schema, without nulls or placeholders",
  run: "What the run wrote agrees with itself",
  dataset: "The rows are those that the run was given",
  figures: "The figures follow from the logged steps",
  scores: "Every answer, scored again from its raw text, gets the same verdict",
  signature: "The signature is right",
  replay: "The first steps, trained again, have the same losses",
};

const STATUSES: Record<Check["status"], { kind: BadgeKind; sign: string; word: string }> = {
  passed: { kind: "good", sign: "✓", word: "holds" },
  failed: { kind: "bad", sign: "✕", word: "does not hold" },
  skipped: { kind: "neutral", sign: "–", word: "not checked" },
};

/** Checks the whole bundle again, on the server, while one looks on. */
export function VerifyCard({ evidenceId }: { evidenceId: string }): ReactElement {
  const [progress, setProgress] = useState<VerifyProgress | null>(null);
  const verify = useMutation({ mutationFn: () => verifyEvidence(evidenceId, setProgress) });
  return (
    <Card title="Does it hold?">
      <p>Every file is hashed and read again, every figure recomputed, every answer scored from its raw text.</p>
      <div>
        <Button
          kind="primary"
          isBusy={verify.isPending}
          onClick={() => {
            setProgress(null);
            verify.mutate();
          }}
        >
          {verify.isSuccess ? "Verify it again" : "Verify it now"}
        </Button>
      </div>
      {verify.isPending && progress ? <Progress progress={progress} /> : null}
      {verify.isError ? <ErrorNotice error={verify.error} title="It could not be verified" /> : null}
      {verify.data ? <Verdict verdict={verify.data} /> : null}
    </Card>
  );
}

function Progress({ progress: { checks, num_bytes, total_bytes } }: { progress: VerifyProgress }): ReactElement {
  return (
    <>
      <p role="status">
        {formatBytes(num_bytes)} of {formatBytes(total_bytes)} hashed, {formatCount(checks.length, "check")} made
      </p>
      <progress className={styles.progress} aria-label="Bytes hashed" value={num_bytes} max={total_bytes} />
      <Checks checks={checks} />
    </>
  );
}

function Verdict({ verdict }: { verdict: EvidenceVerdict }): ReactElement {
  const numFailed = verdict.checks.filter(({ status }) => status === "failed").length;
  return (
    <>
      <p role="status">
        {verdict.passed ? (
          <Badge kind="good" sign="✓">
            It holds
          </Badge>
        ) : (
          <Badge kind="bad" sign="✕">
            It does not hold: {formatCount(numFailed, "check")} failed
          </Badge>
        )}{" "}
        Checked {formatTime(verdict.checked_at)} by Tunix RT {verdict.tunix_rt_version}.
      </p>
      <Checks checks={verdict.checks} />
    </>
  );
}

function Checks({ checks }: { checks: readonly Check[] }): ReactElement {
  return (
    <PlainTable
      name="Checks"
      columns={[{ header: "What is claimed" }, { header: "Verdict" }, { header: "What was looked at" }]}
      rows={checks.map((check) => ({ key: check.name, cells: cellsOf(check) }))}
    />
  );
}

function cellsOf(check: Check): ReactElement[] {
  const { kind, sign, word } = STATUSES[check.status];
  return [
    <Sentence key="claim">{MEANINGS[check.name]}</Sentence>,
    <Badge key="verdict" kind={kind} sign={sign}>
      {word}
    </Badge>,
    <Sentence key="detail">
      {check.detail}
      <Problems check={check} />
    </Sentence>,
  ];
}

function Problems({ check }: { check: Check }): ReactElement | null {
  const { problems = [], num_problems = 0 } = check;
  if (problems.length === 0) return null;
  return (
    <ul>
      {problems.map(({ detail, next_step }) => (
        <li key={detail}>
          {detail} {next_step}
        </li>
      ))}
      {num_problems > problems.length ? <li>and {num_problems - problems.length} more</li> : null}
    </ul>
  );
}
