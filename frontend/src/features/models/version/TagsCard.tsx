import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { removeTag, setTag } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import styles from "../models.module.css";

interface TagsCardProps {
  version: VersionDetail;
  canWrite: boolean;
  /** Whether tags can be removed. */
  canRemove: boolean;
}

/** Key-value tags of a version: `stage = tried`. */
export function TagsCard({ version, canWrite, canRemove }: TagsCardProps): ReactElement {
  const tags = Object.entries(version.tags ?? {});
  return (
    <Card title="Tags">
      {tags.length === 0 ? <p>No tags. Tags are key-value pairs, such as stage = tried.</p> : null}
      <ul className={styles.tags}>
        {tags.map(([name, value]) => (
          <li key={name}>
            <Badge>
              {name} = {value}
            </Badge>
            {canRemove ? <RemoveTag versionId={version.id} name={name} /> : null}
          </li>
        ))}
      </ul>
      {canWrite ? <NewTag versionId={version.id} /> : null}
    </Card>
  );
}

function RemoveTag({ versionId, name }: { versionId: string; name: string }): ReactElement {
  const remove = useTagChange(() => removeTag(versionId, name));
  return (
    <Button
      kind="quiet"
      aria-label={`Remove ${name}`}
      isBusy={remove.isPending}
      onClick={() => {
        remove.mutate();
      }}
    >
      ✕
    </Button>
  );
}

function NewTag({ versionId }: { versionId: string }): ReactElement {
  const [tag, change] = useState({ name: "", value: "" });
  const add = useTagChange(() => setTag(versionId, tag.name.trim(), tag.value.trim()));
  return (
    <form
      className={styles.row}
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate(undefined, {
          onSuccess: () => {
            change({ name: "", value: "" });
          },
        });
      }}
    >
      <TextField
        label="Tag"
        value={tag.name}
        onChange={(name) => {
          change({ ...tag, name });
        }}
      />
      <TextField
        label="Value"
        value={tag.value}
        onChange={(value) => {
          change({ ...tag, value });
        }}
      />
      <Button type="submit" isBusy={add.isPending} disabled={tag.name.trim() === "" || tag.value.trim() === ""}>
        Add tag
      </Button>
    </form>
  );
}

function useTagChange(change: () => Promise<unknown>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["models"] }),
    onError: showError,
  });
}
