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

/** The meaning of each check. */
const MEANINGS: Record<Check["name"], string> = {
  container: "Opens and contains only regular files",
  manifest: "File list complete and of a known version",
  files: "All files present with the packed bytes",
  sums: "SHA256SUMS matches",
  complete: "No required evidence is missing",
  contents: "Every file matches its schema, without nulls or placeholders",
  run: "The files of the run are consistent",
  training: "Recipe, metrics, times, devices and log are consistent",
  dataset: "The rows are those the run was trained on",
  evaluation: "Evaluates these weights, on questions that were not trained on",
  figures: "The metrics follow from the logged steps",
  scores: "Rescoring every answer from its raw text gives the same verdict",
  pages: "Rendering the page and the RO-Crate again gives the same",
  signature: "Signature valid",
  replay: "Retraining the first steps gives the same losses",
};

const STATUSES: Record<Check["status"], { kind: BadgeKind; sign: string; word: string }> = {
  passed: { kind: "good", sign: "✓", word: "passed" },
  failed: { kind: "bad", sign: "✕", word: "failed" },
  skipped: { kind: "neutral", sign: "–", word: "skipped" },
};

/** Verifies the whole bundle on the server with live progress. */
export function VerifyCard({ evidenceId }: { evidenceId: string }): ReactElement {
  const [progress, setProgress] = useState<VerifyProgress | null>(null);
  const verify = useMutation({ mutationFn: () => verifyEvidence(evidenceId, setProgress) });
  return (
    <Card title="Verification">
      <p>Hashes and reads every file, recomputes every metric, and rescores every answer from its raw text.</p>
      <div>
        <Button
          kind="primary"
          isBusy={verify.isPending}
          onClick={() => {
            setProgress(null);
            verify.mutate();
          }}
        >
          {verify.isSuccess ? "Verify again" : "Verify"}
        </Button>
      </div>
      {verify.isPending && progress ? <Progress progress={progress} /> : null}
      {verify.isError ? <ErrorNotice error={verify.error} title="Could not verify" /> : null}
      {verify.data ? <Verdict verdict={verify.data} /> : null}
    </Card>
  );
}

function Progress({ progress: { checks, num_bytes, total_bytes } }: { progress: VerifyProgress }): ReactElement {
  return (
    <>
      <p role="status">
        {formatBytes(num_bytes)} of {formatBytes(total_bytes)} hashed, {formatCount(checks.length, "check")} done
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
            Verified{verdict.shown?.length ? `: ${verdict.shown.join(", ")}` : ""}
          </Badge>
        ) : (
          <Badge kind="bad" sign="✕">
            Verification failed: {formatCount(numFailed, "check")} failed
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
      columns={[{ header: "Check" }, { header: "Result" }, { header: "Details" }]}
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
