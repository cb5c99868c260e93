import type { ReactElement } from "react";
import type { Preference } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import styles from "../chat.module.css";

type Choice = Preference["choice"];

interface VoteButtonsProps {
  isBusy: boolean;
  onVote: (choice: Choice) => void;
}

const CHOICES: readonly { choice: Choice; keys: string; label: string }[] = [
  { choice: "a", keys: "a", label: "A is better" },
  { choice: "b", keys: "b", label: "B is better" },
  { choice: "tie", keys: "t", label: "Both are good" },
  { choice: "neither", keys: "n", label: "Both are bad" },
];

/** Voting buttons with keyboard shortcuts. */
export function VoteButtons({ isBusy, onVote }: VoteButtonsProps): ReactElement {
  useShortcuts(
    CHOICES.map(({ choice, keys, label }) => ({
      keys,
      label,
      run: () => {
        onVote(choice);
      },
    })),
  );
  return (
    <div className={styles.buttons} role="group" aria-label="Which answer is better?">
      {CHOICES.map(({ choice, keys, label }) => (
        <Button
          key={choice}
          disabled={isBusy}
          onClick={() => {
            onVote(choice);
          }}
        >
          {label} <kbd>{keys}</kbd>
        </Button>
      ))}
    </div>
  );
}
