import type { ReactElement } from "react";
import type { Preference } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { AnswerView } from "../AnswerView";
import styles from "../chat.module.css";
import type { Round } from "./useBlindRound";

interface SidesProps {
  round: Round;
  /** Whether the model names are shown, after the vote. */
  isRevealed: boolean;
  choice: Preference["choice"] | null;
}

const SIDES = [
  { index: 0, key: "a", title: "Answer A" },
  { index: 1, key: "b", title: "Answer B" },
] as const;

/** Both answers side by side. */
export function Sides({ round, isRevealed, choice }: SidesProps): ReactElement {
  const isLeftDone = round.answers[0].numTokens !== null;
  return (
    <div className={styles.sides}>
      {SIDES.map(({ index, key, title }) => (
        <Card key={key} title={isRevealed ? `${title}: ${round.models[index]}` : title}>
          {choice === key ? (
            <div>
              <Badge kind="good" sign="✓">
                preferred
              </Badge>
            </div>
          ) : null}
          {index === 1 && round.state === "pending" && !isLeftDone ? (
            <p>Waiting for answer A to finish.</p>
          ) : (
            <AnswerView answer={round.answers[index]} isWriting={round.state === "pending"} />
          )}
        </Card>
      ))}
    </div>
  );
}
