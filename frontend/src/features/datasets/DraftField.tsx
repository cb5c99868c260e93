import { type ReactElement, type ReactNode, useState } from "react";
import { TextField } from "../../ui/forms/TextField";

interface DraftFieldProps {
  label: string;
  help?: ReactNode;
  value: string;
  placeholder?: string;
  type?: "text" | "number";
  /** Enter, or the focus leaves: what was typed counts. */
  onCommit: (value: string) => void;
}

/** Text that counts when it is finished: what costs the server seconds is not asked at every key. */
export function DraftField({ label, value, onCommit, ...rest }: DraftFieldProps): ReactElement {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = (): void => {
    if (draft !== null && draft.trim() !== value) onCommit(draft.trim());
    setDraft(null);
  };
  return (
    <TextField
      {...rest}
      label={label}
      value={draft ?? value}
      onChange={setDraft}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    />
  );
}
