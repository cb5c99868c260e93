import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { savePreference } from "../preferences";
import type { NewPreference } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showError } from "../../../ui/feedback/toasts";
import { MathText } from "../../../ui/markdown/MathText";
import styles from "../chat.module.css";
import { QuestionForm } from "../QuestionForm";
import type { Decoding } from "../settings";
import { Sides } from "./Sides";
import { type Models, useBlindRound, voteOn } from "./useBlindRound";
import { VoteButtons } from "./VoteButtons";
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
