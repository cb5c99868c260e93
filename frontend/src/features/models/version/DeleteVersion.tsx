import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { referenceOf, removeVersion } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

/** Forgets a version, once that is confirmed. */
export function DeleteVersion({ version }: { version: VersionDetail }): ReactElement {
  const [isAsking, setAsking] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const reference = referenceOf(version);
  const remove = useMutation({
    mutationFn: () => removeVersion(version.id),
    onSuccess: async () => {
      await navigate({ to: "/models/$model", params: { model: version.model } });
      queryClient.removeQueries({ queryKey: ["models", "versions", version.id] });
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast(`${reference} is forgotten.`);
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="quiet"
        onClick={() => {
          setAsking(true);
        }}
      >
        Forget…
      </Button>
      <ConfirmDialog
        title={`Forget ${reference}?`}
        isOpen={isAsking}
        confirmLabel="Forget the version"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setAsking(false);
        }}
      >
        Its registered weights are lost once <code>tunix-rt models gc</code> runs. The run that made them, and its
        evaluations, stay. What an alias, a baseline or a training needs is refused.
      </ConfirmDialog>
    </>
  );
}
