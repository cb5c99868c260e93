import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { deleteDataset } from "../queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";

interface DeleteDialogProps {
  datasetKey: string;
  isOpen: boolean;
  onClose: () => void;
}

export function DeleteDialog({ datasetKey, isOpen, onClose }: DeleteDialogProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteDataset(datasetKey),
    onSuccess: async () => {
      await navigate({ to: "/datasets" });
      queryClient.removeQueries({ queryKey: ["datasets", "one", datasetKey] });
      await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      showToast(`${datasetKey} is deleted.`);
    },
    onError: showError,
  });
  return (
    <ConfirmDialog
      title={`Delete ${datasetKey}?`}
      isOpen={isOpen}
      confirmLabel="Delete the dataset"
      isDangerous
      onConfirm={() => {
        remove.mutate();
      }}
      onClose={onClose}
    >
      <p>Its rows, statistics and card are gone then. The traces stay, and the same build makes it again.</p>
      <p>A dataset that a run uses is not deleted: it is that run&rsquo;s evidence.</p>
    </ConfirmDialog>
  );
}
