import { Link } from "@tanstack/react-router";
import { type ReactElement, type ReactNode, useState } from "react";
import { referenceOf } from "../queries";
import type { EvaluationSummary, VersionDetail } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { Button } from "../../../ui/forms/Button";
import { EvaluateDialog } from "../../evaluation/shared/EvaluateDialog";
import { TaskList } from "../../runs/shared/TaskList";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatAgo, formatBytes, formatCount, formatNumber, formatShare, formatTime } from "../../../ui/display/format";
import { LineageGraph } from "./LineageGraph";
import { lineageColumns } from "./lineage";
import { NotesCard } from "./NotesCard";
import { TagsCard } from "./TagsCard";

interface OverviewProps {
  version: VersionDetail;
  canWrite: boolean;
  canRemove: boolean;
}

/** The lineage, evaluations, details, tags and notes of a version. */
export function Overview({ version, canWrite, canRemove }: OverviewProps): ReactElement {
  return (
    <>
      <Card title="Lineage">
        <LineageGraph columns={lineageColumns(version)} />
      </Card>
      <Card title="Evaluations">
        <Evaluations version={version} />
        <TaskList query={{ kind: "evaluation", model: referenceOf(version), limit: 5 }} canWrite={canWrite} />
        {canWrite ? <EvaluateButton model={referenceOf(version)} /> : null}
      </Card>
      <Card title="Details">
        <Facts facts={factsOf(version)} />
      </Card>
      <TagsCard version={version} canWrite={canWrite} canRemove={canRemove} />
      <NotesCard version={version} canWrite={canWrite} />
    </>
  );
}

function EvaluateButton({ model }: { model: string }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  return (
    <div>
      <Button
        onClick={() => {
          setConfirming(true);
        }}
      >
        Evaluate
      </Button>
      <EvaluateDialog
        model={model}
        isOpen={isConfirming}
        onClose={() => {
          setConfirming(false);
        }}
      />
    </div>
  );
}

function Evaluations({ version }: { version: VersionDetail }): ReactElement {
  if (version.evaluations.length === 0) {
    return <p>Not evaluated yet. An evaluation measures accuracy with a confidence interval.</p>;
  }
  const columns = [{ header: "Eval set" }, { header: "Score" }, { header: "Format" }, { header: "Evaluated" }];
  const rows = version.evaluations.map((one) => ({ key: one.evaluation_id, cells: evaluationCells(one) }));
  return <PlainTable name="Evaluations" columns={columns} rows={rows} />;
}

function evaluationCells(one: EvaluationSummary): ReactNode[] {
  const { evaluation_id, evalset, primary_score, low, high, num_scored, format_adherence, created_at } = one;
  const isScored = primary_score != null && low != null && high != null;
  return [
    <Link key="evalset" to="/evaluations/$evaluationId" params={{ evaluationId: evaluation_id }}>
      {evalset}
    </Link>,
    isScored ? <Interval key="score" value={primary_score} low={low} high={high} n={num_scored} /> : "not scored",
    formatShare(format_adherence),
    <time key="created" title={formatTime(created_at)}>
      {formatAgo(created_at)}
    </time>,
  ];
}

function factsOf({ kind, size_bytes, num_files, markup, created_at, lineage }: VersionDetail) {
  const { recipe, mode, engine, commit, is_dirty, tunix_rt_version, trained_at, step, base } = lineage;
  return {
    Kind: kind === "adapter" ? "LoRA adapter" : "full model",
    Size: `${formatBytes(size_bytes)} in ${formatCount(num_files, "file")}`,
    Markup: markup,
    Base: base ? `${base.name}${base.weights === "random" ? ` (random, seed ${base.seed ?? 0})` : ""}` : null,
    Recipe: recipe,
    Trained: mode,
    Steps: formatNumber(step),
    Engine: engine,
    "Tunix RT": tunix_rt_version,
    Commit: commit ? <code>{`${commit.slice(0, 12)}${is_dirty ? ", uncommitted changes" : ""}`}</code> : null,
    "Trained at": formatTime(trained_at),
    Registered: formatTime(created_at),
  };
}
