/** The name of a run without the timestamp of its id:`20261115-214717-rate-0-f5af` → `rate-0-f5af`. */
export function shortRunName(runId: string): string {
  return runId.replace(/^\d{8}-\d{6}-(?=.)/, "");
}
