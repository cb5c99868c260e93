import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { isActive } from "../queries";
import type { EvaluateModel, ExportModel, operations, Task, TaskList } from "../../../api/schema.gen";

/** Which tasks are meant. */
export type TaskQuery = NonNullable<operations["get_tasks_api_tasks_get"]["parameters"]["query"]>;

const POLL_MS = 1_500;

/** The newest tasks; read again while one of them is under way. */
export const tasksQuery = (query: TaskQuery) =>
  queryOptions({
    queryKey: ["tasks", query],
    queryFn: (): Promise<TaskList> => unwrap(api.GET("/api/tasks", { params: { query } })),
    refetchInterval: ({ state }) => (state.data?.data.some(({ status }) => isActive(status)) ? POLL_MS : false),
  });

/** Put an evaluation or an export into the queue. */
export function askForTask(body: EvaluateModel | ExportModel): Promise<Task> {
  return unwrap(api.POST("/api/tasks", { body }));
}

/** Stop a task; an evaluation keeps the answers that it has. */
export function cancelTask(taskId: string): Promise<Task> {
  return unwrap(api.POST("/api/tasks/{task_id}/cancel", of(taskId)));
}

/** Forget a task and the files that it exported; an evaluation stays. */
export async function removeTask(taskId: string): Promise<void> {
  await unwrap(api.DELETE("/api/tasks/{task_id}", of(taskId)));
}

/** Where the files of an export are downloaded from, as a zip. */
export function exportDownloadPath(taskId: string): string {
  return `/api/tasks/${taskId}/download`;
}

function of(taskId: string) {
  return { params: { path: { task_id: taskId } } };
}
