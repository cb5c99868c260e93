import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { NewPreference, Preference } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { MathText } from "../../../ui/markdown/MathText";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { AnswerView } from "../AnswerView";
import styles from "../chat.module.css";
import { savePreference } from "../queries";
import { QuestionForm } from "../QuestionForm";
import type { Decoding } from "../settings";
import { type Models, type Round, useBlindRound, voteOn } from "./useBlindRound";
import { VotesCard } from "./VotesCard";

interface BlindComparisonProps {
  models: Models;
  decoding: Decoding;
}

/** Two models answer the same question. Their names are shown after the vote. */
export function BlindComparison({ models, decoding }: BlindComparisonProps): ReactElement {
  const { round, error, ask, stop } = useBlindRound(models, decoding);
  const { data: session } = useQuery(sessionQuery);
  const vote = useVote();
  const canVote = session !== undefined && session.scope !== "read";
  const isVoted = vote.isSuccess;
  return (
    <>
      {models[0] === models[1] ? (
        <p>Both models have the same weights. Choose a different model for one of them.</p>
      ) : null}
      <QuestionForm
        isBusy={round?.state === "pending"}
        onAsk={(question) => {
          vote.reset();
          ask(question);
        }}
        onStop={stop}
      />
      {error === null ? null : <ErrorNotice error={error} title="A model did not answer" />}
      {round === null ? null : (
        <>
          <div className={styles.question}>
            <MathText text={round.question} />
          </div>
          <Sides round={round} isRevealed={isVoted} choice={vote.data?.choice ?? null} />
        </>
      )}
      {round?.state === "written" && !isVoted && canVote ? (
        <VoteButtons
          isBusy={vote.isPending}
          onVote={(choice) => {
            vote.mutate(voteOn(round, choice));
          }}
        />
      ) : null}
      {isVoted ? <p role="status">Vote saved as a preference. Send the next message.</p> : null}
      <VotesCard isAdmin={session?.scope === "admin"} />
    </>
  );
}

function useVote() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (vote: NewPreference) => savePreference(vote),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["preferences"] }),
    onError: showError,
  });
}

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
function VoteButtons({ isBusy, onVote }: VoteButtonsProps): ReactElement {
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
function Sides({ round, isRevealed, choice }: SidesProps): ReactElement {
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
