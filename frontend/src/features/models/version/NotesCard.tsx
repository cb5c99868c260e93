import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { setNotes } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { TextArea } from "../../../ui/forms/TextArea";
import { Card } from "../../../ui/display/Card";
import styles from "../models.module.css";

interface NotesCardProps {
  version: VersionDetail;
  canWrite: boolean;
}

/** The notes of a version, also shown in its card. */
export function NotesCard({ version, canWrite }: NotesCardProps): ReactElement {
  const queryClient = useQueryClient();
  const [text, setText] = useState(version.notes ?? "");
  const save = useMutation({
    mutationFn: () => setNotes(version.id, text),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast("Notes saved.");
    },
    onError: showError,
  });
  if (!canWrite) return <Card title="Notes">{version.notes ? <p>{version.notes}</p> : <p>No notes.</p>}</Card>;
  return (
    <Card title="Notes">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextArea label="Notes" isLabelHidden rows={3} value={text} onChange={setText} />
        <div>
          <Button type="submit" isBusy={save.isPending} disabled={text === (version.notes ?? "")}>
            Save notes
          </Button>
        </div>
      </form>
    </Card>
  );
}
