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
  mayWrite: boolean;
  mayRemove: boolean;
}

/** Where a version comes from, how good it is, and what people say about it. */
export function Overview({ version, mayWrite, mayRemove }: OverviewProps): ReactElement {
  return (
    <>
      <Card title="Lineage">
        <LineageGraph columns={lineageColumns(version)} />
      </Card>
      <Card title="Evaluations of these weights">
        <Evaluations version={version} />
        <TaskList query={{ kind: "evaluation", model: referenceOf(version), limit: 5 }} mayWrite={mayWrite} />
        {mayWrite ? <EvaluateButton model={referenceOf(version)} /> : null}
      </Card>
      <Card title="What it is">
        <Facts facts={factsOf(version)} />
      </Card>
      <TagsCard version={version} mayWrite={mayWrite} mayRemove={mayRemove} />
      <NotesCard version={version} mayWrite={mayWrite} />
    </>
  );
}

function EvaluateButton({ model }: { model: string }): ReactElement {
  const [isAsking, setAsking] = useState(false);
  return (
    <div>
      <Button
        onClick={() => {
          setAsking(true);
        }}
      >
        Evaluate it
      </Button>
      <EvaluateDialog
        model={model}
        isOpen={isAsking}
        onClose={() => {
          setAsking(false);
        }}
      />
    </div>
  );
}

function Evaluations({ version }: { version: VersionDetail }): ReactElement {
  if (version.evaluations.length === 0) {
    return <p>It was not measured yet. An evaluation says how many answers are right, and how sure that is.</p>;
  }
  const columns = [{ header: "Eval set" }, { header: "Score" }, { header: "Format kept" }, { header: "Measured" }];
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
    Kind: kind === "adapter" ? "LoRA adapter" : "whole model",
    Size: `${formatBytes(size_bytes)} in ${formatCount(num_files, "file")}`,
    Markup: markup,
    Base: base ? `${base.name}${base.weights === "random" ? ` (random, seed ${base.seed ?? 0})` : ""}` : null,
    Recipe: recipe,
    Trained: mode,
    Steps: formatNumber(step),
    Engine: engine,
    "Tunix RT": tunix_rt_version,
    Commit: commit ? <code>{`${commit.slice(0, 12)}${is_dirty ? ", with changes" : ""}`}</code> : null,
    "Trained at": formatTime(trained_at),
    Registered: formatTime(created_at),
  };
}
