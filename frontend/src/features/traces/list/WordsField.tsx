import { type ReactElement, useState } from "react";
import { TextField } from "../../../ui/forms/TextField";

interface WordsFieldProps {
  label: string;
  help: string;
  values: readonly string[] | undefined;
  onChange: (values: string[]) => void;
}

/** A comma-separated list of words. The text stays as typed while the parsed words are passed on. */
export function WordsField({ label, help, values = [], onChange }: WordsFieldProps): ReactElement {
  const [typed, setTyped] = useState(values.join(", "));
  const shown = wordsOf(typed).join() === values.join() ? typed : values.join(", ");
  return (
    <TextField
      label={label}
      help={help}
      type="search"
      value={shown}
      onChange={(text) => {
        setTyped(text);
        onChange(wordsOf(text));
      }}
    />
  );
}

function wordsOf(text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  return [...new Set(words.filter((word) => word !== ""))];
}
