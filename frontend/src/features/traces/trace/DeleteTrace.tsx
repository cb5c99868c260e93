import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { sessionQuery } from "../../../api/session";
import { deleteTrace } from "../queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Removes a trace after asking; only for those who may. */
export function DeleteTrace({ traceId }: { traceId: string }): ReactElement | null {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const scope = useQuery(sessionQuery).data?.scope;
  const removal = useMutation({
    mutationFn: () => deleteTrace(traceId),
    onSuccess: async () => {
      showToast("The trace is deleted.");
      await navigate({ to: "/traces" });
      await queryClient.invalidateQueries({ queryKey: ["traces", "list"] });
    },
    onError: showError,
  });
  if (scope !== "admin") return null;
  return (
    <>
      <Button
        kind="quiet"
        isBusy={removal.isPending}
        onClick={() => {
          setAsking(true);
        }}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title="Delete this trace?"
        isOpen={isAsking}
        confirmLabel="Delete the trace"
        isDangerous
        onConfirm={() => {
          removal.mutate();
        }}
        onClose={() => {
          setAsking(false);
        }}
      >
        It cannot be brought back. Datasets that were built from it keep their copy; reviews of it can no longer be
        exported.
      </ConfirmDialog>
    </>
  );
}
