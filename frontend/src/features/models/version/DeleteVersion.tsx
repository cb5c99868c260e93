import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { referenceOf, removeVersion } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Deletes a version after confirmation. */
export function DeleteVersion({ version }: { version: VersionDetail }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const reference = referenceOf(version);
  const remove = useMutation({
    mutationFn: () => removeVersion(version.id),
    onSuccess: async () => {
      await navigate({ to: "/models/$model", params: { model: version.model } });
      queryClient.removeQueries({ queryKey: ["models", "versions", version.id] });
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast(`Deleted ${reference}.`);
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="quiet"
        onClick={() => {
          setConfirming(true);
        }}
      >
        {" "}
        Delete…{" "}
      </Button>
      <ConfirmDialog
        title={`Delete ${reference}?`}
        isOpen={isConfirming}
        confirmLabel="Delete version"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        Its registered weights are deleted when <code>tunix-rt models gc</code> runs. The source run and its evaluations
        stay. A version used by an alias, a baseline or a training run cannot be deleted.
      </ConfirmDialog>
    </>
  );
}
