import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { sessionQuery } from "../../../api/session";
import { deleteTrace } from "../queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Deletes a trace after confirmation. Only shown to administrators. */
export function DeleteTrace({ traceId }: { traceId: string }): ReactElement | null {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [isConfirming, setConfirming] = useState(false);
  const scope = useQuery(sessionQuery).data?.scope;
  const removal = useMutation({
    mutationFn: () => deleteTrace(traceId),
    onSuccess: async () => {
      showToast("Trace deleted.");
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
          setConfirming(true);
        }}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title="Delete this trace?"
        isOpen={isConfirming}
        confirmLabel="Delete trace"
        isDangerous
        onConfirm={() => {
          removal.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        This cannot be undone. Datasets built from it keep their copy, but its reviews can no longer be exported.
      </ConfirmDialog>
    </>
  );
}
