import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef } from "react";
import type { ExportReport, Task } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatNumber,
  formatTime,
  shortRunName,
} from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showError } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { isActive } from "../queries";
import { cancelTask, exportDownloadPath, type TaskQuery, tasksQuery } from "./tasks";
import styles from "./tasks.module.css";

interface TaskListProps {
  query: TaskQuery;
  canWrite: boolean;
}

/** A live list of evaluation and export tasks. Renders nothing if there are none. */
export function TaskList({ query, canWrite }: TaskListProps): ReactElement | null {
  const tasks = useQuery(tasksQuery(query));
  const found = tasks.data?.data ?? [];
  useRefreshWhenDone(found.filter(({ status }) => isActive(status)).length);
  if (tasks.isError) return <ErrorNotice error={tasks.error} onRetry={() => void tasks.refetch()} />;
  if (found.length === 0) return null;
  return (
    <ul className={styles.tasks} aria-label="Tasks">
      {found.map((task) => (
        <li key={task.task_id} className={styles.task}>
          <TaskItem task={task} isModelKnown={query.model !== undefined} canWrite={canWrite} />
        </li>
      ))}
    </ul>
  );
}

interface TaskItemProps {
  task: Task;
  /** Hides the model name on pages about that model. */
  isModelKnown: boolean;
  canWrite: boolean;
}

function TaskItem({ task, isModelKnown, canWrite }: TaskItemProps): ReactElement {
  return (
    <>
      <div className={styles.head}>
        <StatusBadge status={task.status} />
        <span className={styles.what}>
          <TaskName task={task} isModelKnown={isModelKnown} />{" "}
          <time className={styles.muted} title={formatTime(task.created_at)}>
            {formatAgo(task.created_at)}
          </time>
        </span>
        {canWrite && isActive(task.status) ? <CancelButton task={task} /> : null}
      </div>
      {task.status === "queued" ? <p className={styles.muted}>Waiting for a worker with a free slot.</p> : null}
      {task.progress ? <Progress task={task} /> : null}
      {task.failure ? (
        <p>
          {task.failure.detail} {task.failure.next_step}
        </p>
      ) : null}
      {task.result?.export ? <ExportResult task={task} report={task.result.export} /> : null}
    </>
  );
}

function TaskName({ task, isModelKnown }: Pick<TaskItemProps, "task" | "isModelKnown">): ReactElement {
  const { request, model, result } = task;
  if (request.kind === "export") return <>{EXPORTS[request.form]}</>;
  const limit = request.limit == null ? "" : `, first ${request.limit} questions`;
  const name = isModelKnown ? "Evaluation" : shortRunName(model);
  const words = `${name} on ${request.eval_set}${limit}`;
  if (result?.evaluation_id == null) return <>{words}</>;
  return (
    <Link to="/evaluations/$evaluationId" params={{ evaluationId: result.evaluation_id }}>
      {words}
    </Link>
  );
}

const EXPORTS = { merged: "Merged model", adapter: "Adapter", zip: "Registered files" };

function Progress({ task: { progress } }: { task: Task }): ReactElement | null {
  if (!progress) return null;
  const { stage, num_done, num_total, tokens_per_s } = progress;
  const isCounted = num_done != null && num_total != null;
  const speed = tokens_per_s == null ? "" : `, ${formatNumber(tokens_per_s)} tokens/s`;
  return (
    <>
      <span className={styles.muted} role="status">
        {stage}
        {isCounted ? `: ${formatNumber(num_done)} of ${formatNumber(num_total)}${speed}` : "…"}
      </span>
      {isCounted ? (
        <progress className={styles.progress} aria-label="Answers generated" value={num_done} max={num_total} />
      ) : null}
    </>
  );
}

function CancelButton({ task }: { task: Task }): ReactElement {
  const queryClient = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelTask(task.task_id),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["tasks"] }),
    onError: showError,
  });
  return (
    <Button
      kind="quiet"
      isBusy={cancel.isPending || task.status === "cancelling"}
      title="Stops the task. An evaluation keeps its answers and continues when submitted again."
      onClick={() => {
        cancel.mutate();
      }}
    >
      Cancel
    </Button>
  );
}

/** Refreshes evaluations and models when a task ends. */
function useRefreshWhenDone(numActive: number): void {
  const queryClient = useQueryClient();
  const before = useRef(numActive);
  useEffect(() => {
    if (numActive < before.current) {
      void queryClient.invalidateQueries({ queryKey: ["evaluations"] });
      void queryClient.invalidateQueries({ queryKey: ["models"] });
    }
    before.current = numActive;
  }, [numActive, queryClient]);
}

/** The parity result of an export, its basis and the download link. */
function ExportResult({ task, report }: { task: Task; report: ExportReport }): ReactElement {
  const size = report.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <div className={styles.head}>
      <Badge kind={report.passed ? "good" : "bad"} sign={report.passed ? "✓" : "✕"}>
        {report.passed ? "Identical model" : "Not identical"}
      </Badge>
      <span className={styles.what}>{parityText(report)}</span>
      <a className={buttonClass()} href={exportDownloadPath(task.task_id)} download>
        Download, {formatBytes(size)}
      </a>
    </div>
  );
}

function parityText({ tokens, is_same_bytes, passed }: ExportReport): string {
  if (!tokens)
    return is_same_bytes ? "All bytes match the registered model." : "Bytes differ from the registered model.";
  const questions = formatCount(tokens.prompts.length, "question");
  // The device is followed by the reason in parentheses.
  const [device] = tokens.device.split(" (");
  const where = `${tokens.engine} on ${device}, ${tokens.precision}`;
  if (passed) return `Both models generated the same tokens for ${questions} (${where}).`;
  const numDiffering = tokens.prompts.filter(({ registered, exported }) => !areEqual(registered, exported)).length;
  return `The models generated different tokens for ${numDiffering} of ${questions} (${where}). Export as float32 to avoid rounding.`;
}

function areEqual(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((token, index) => token === others[index]);
}
