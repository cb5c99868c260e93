import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { numUnscoredQuery, scoreTraces, type TraceFilters } from "../queries";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { formatCount } from "../../../ui/display/format";
import { useCanWrite } from "../parts/useCanWrite";
import styles from "./list.module.css";

/** Reports traces that have no score yet, and offers to lint them. */
export function UnscoredNotice({ filters }: { filters: TraceFilters }): ReactElement | null {
  const queryClient = useQueryClient();
  const canWrite = useCanWrite();
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
  const verb = numUnscored === 1 ? "has" : "have";
  return (
    <p className={styles.notice}>
      <span>
        {formatCount(numUnscored, "trace")} {verb} not been linted, so there are no scores or findings to filter by.
      </span>
      {canWrite ? (
        <Button
          isBusy={scoring.isPending}
          onClick={() => {
            scoring.mutate();
          }}
        >
          {scoring.isPending ? "Linting…" : "Lint now"}
        </Button>
      ) : null}
    </p>
  );
}
