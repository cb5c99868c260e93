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

interface BlindProps {
  models: Models;
  decoding: Decoding;
}

/** Two models answer the same question; who they are is shown after the vote. */
export function Blind({ models, decoding }: BlindProps): ReactElement {
  const { round, error, ask, stop } = useBlindRound(models, decoding);
  const { data: session } = useQuery(sessionQuery);
  const vote = useVote();
  const mayVote = session !== undefined && session.scope !== "read";
  const isVoted = vote.isSuccess;
  return (
    <>
      {models[0] === models[1] ? <p>Both are the same weights: choose another model for one of them.</p> : null}
      <QuestionForm
        isBusy={round?.state === "writing"}
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
      {round?.state === "written" && !isVoted && mayVote ? (
        <VoteButtons
          isBusy={vote.isPending}
          onVote={(choice) => {
            vote.mutate(voteOn(round, choice));
          }}
        />
      ) : null}
      {isVoted ? <p role="status">The vote is saved as a preference. Ask the next question.</p> : null}
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
