import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { numUnscoredQuery, scoreTraces, type TraceFilters } from "../queries";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { formatCount } from "../../../ui/display/format";
import { useMayWrite } from "../parts/useMayWrite";
import styles from "./list.module.css";

/** Says that some traces have no score yet, and judges them when asked. */
export function UnscoredNotice({ filters }: { filters: TraceFilters }): ReactElement | null {
  const queryClient = useQueryClient();
  const mayWrite = useMayWrite();
  const numUnscored = useQuery(numUnscoredQuery(filters)).data ?? 0;
  const scoring = useMutation({
    mutationFn: () => scoreTraces(filters),
    onSuccess: async ({ num_scored }) => {
      showToast(`Linted ${formatCount(num_scored, "trace")}.`);
      await queryClient.invalidateQueries({ queryKey: ["traces"] });
    },
    onError: showError,
  });
  if (numUnscored === 0) return null;
  const verb = numUnscored === 1 ? "was" : "were";
  return (
    <p className={styles.notice}>
      <span>
        {formatCount(numUnscored, "trace")} {verb} never linted: no score and no findings to filter by.
      </span>
      {mayWrite ? (
        <Button
          isBusy={scoring.isPending}
          onClick={() => {
            scoring.mutate();
          }}
        >
          {scoring.isPending ? "Linting…" : "Lint them"}
        </Button>
      ) : null}
    </p>
  );
}
