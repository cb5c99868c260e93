import { type ReactElement, type ReactNode, useState } from "react";
import { TextField } from "../../ui/forms/TextField";

interface DraftFieldProps {
  label: string;
  help?: ReactNode;
  value: string;
  placeholder?: string;
  type?: "text" | "number";
  /** Called with the text on Enter or blur. */
  onCommit: (value: string) => void;
}

/** A text field that commits on Enter or blur, for values that trigger a slow request. */
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
