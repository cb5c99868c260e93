import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { removeBaseline } from "./queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Remove a baseline, once it is confirmed. */
export function ForgetBaseline({ name }: { name: string }): ReactElement {
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const forget = useMutation({
    mutationFn: () => removeBaseline(name),
    onSuccess: async () => {
      await navigate({ to: "/gates" });
      await queries.invalidateQueries({ queryKey: ["gates"] });
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="danger"
        isBusy={forget.isPending}
        onClick={() => {
          setAsking(true);
        }}
      >
        Forget the baseline
      </Button>
      <ConfirmDialog
        title={`Forget the baseline ${name}?`}
        isOpen={isAsking}
        confirmLabel="Forget the baseline"
        isDangerous
        onConfirm={() => {
          forget.mutate();
        }}
        onClose={() => {
          setAsking(false);
        }}
      >
        Its rule is lost. Its evaluation and the verdicts so far stay.
      </ConfirmDialog>
    </>
  );
}
