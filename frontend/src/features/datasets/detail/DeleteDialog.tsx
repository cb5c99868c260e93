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
      showToast(`Deleted ${datasetKey}.`);
    },
    onError: showError,
  });
  return (
    <ConfirmDialog
      title={`Delete ${datasetKey}?`}
      isOpen={isOpen}
      confirmLabel="Delete dataset"
      isDangerous
      onConfirm={() => {
        remove.mutate();
      }}
      onClose={onClose}
    >
      <p>This deletes its rows, statistics and card. The traces stay, and the same build recreates it.</p>
      <p>A dataset used by a run cannot be deleted, because it is part of that run&rsquo;s evidence.</p>
    </ConfirmDialog>
  );
}
