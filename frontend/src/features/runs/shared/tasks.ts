import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { isActive } from "../queries";
import type { EvaluateModel, ExportModel, operations, Task, TaskList } from "../../../api/schema.gen";

/** The filters of a task list. */
export type TaskQuery = NonNullable<operations["get_tasks_api_tasks_get"]["parameters"]["query"]>;

const POLL_MS = 1_500;

/** The newest tasks, polled while one of them is active. */
export const tasksQuery = (query: TaskQuery) =>
  queryOptions({
    queryKey: ["tasks", query],
    queryFn: (): Promise<TaskList> => unwrap(api.GET("/api/tasks", { params: { query } })),
    refetchInterval: ({ state }) => (state.data?.data.some(({ status }) => isActive(status)) ? POLL_MS : false),
  });

/** Queue an evaluation or an export. */
export function submitTask(body: EvaluateModel | ExportModel): Promise<Task> {
  return unwrap(api.POST("/api/tasks", { body }));
}

/** Cancel a task. An evaluation keeps its answers. */
export function cancelTask(taskId: string): Promise<Task> {
  return unwrap(api.POST("/api/tasks/{task_id}/cancel", of(taskId)));
}

/** Delete a task and its exported files. An evaluation stays. */
export async function removeTask(taskId: string): Promise<void> {
  await unwrap(api.DELETE("/api/tasks/{task_id}", of(taskId)));
}

/** The download path of an export as a zip. */
export function exportDownloadPath(taskId: string): string {
  return `/api/tasks/${taskId}/download`;
}

function of(taskId: string) {
  return { params: { path: { task_id: taskId } } };
}
