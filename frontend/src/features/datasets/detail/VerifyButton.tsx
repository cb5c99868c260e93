import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { verifyDataset } from "../queries";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { formatCount } from "../../../ui/display/format";

/** Verifies the hashes of the dataset against its manifest. */
export function VerifyButton({ datasetKey }: { datasetKey: string }): ReactElement {
  const verify = useMutation({
    mutationFn: () => verifyDataset(datasetKey),
    onSuccess: ({ intact, num_rows, problems }) => {
      if (intact) showToast(`Intact: ${formatCount(num_rows, "row")} read, all hashes match.`);
      else showToast(`Damaged: ${problems.join(" ")}`, "error");
    },
    onError: showError,
  });
  return (
    <Button
      kind="quiet"
      isBusy={verify.isPending}
      onClick={() => {
        verify.mutate();
      }}
    >
      Verify
    </Button>
  );
}
