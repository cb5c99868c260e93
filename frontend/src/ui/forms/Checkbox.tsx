import type { ReactElement, ReactNode } from "react";
import styles from "./Field.module.css";

interface CheckboxProps {
  label: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  disabled?: boolean;
}

export function Checkbox({ label, isChecked, onChange, disabled = false }: CheckboxProps): ReactElement {
  return (
    <label className={styles.check}>
      <input
        type="checkbox"
        checked={isChecked}
        disabled={disabled}
        onChange={(event) => {
          onChange(event.target.checked);
        }}
      />
      {label}
    </label>
  );
}
