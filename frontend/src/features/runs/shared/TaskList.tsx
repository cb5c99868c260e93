import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef } from "react";
import { isActive } from "../queries";
import type { Task } from "../../../api/schema.gen";
import { cancelTask, type TaskQuery, tasksQuery } from "./tasks";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { formatAgo, formatNumber, formatTime } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { ExportResult } from "./ExportResult";
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
