import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { removeBaseline } from "./queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Deletes a baseline after confirmation. */
export function DeleteBaseline({ name }: { name: string }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
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
        isBusy={remove.isPending}
        onClick={() => {
          setConfirming(true);
        }}
      >
        Delete baseline
      </Button>
      <ConfirmDialog
        title={`Delete the baseline ${name}?`}
        isOpen={isConfirming}
        confirmLabel="Delete baseline"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        This deletes its rule. Its evaluation and past results stay.
      </ConfirmDialog>
    </>
  );
}
