import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { PairTally, Preference, PreferenceList } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { Card } from "../../../ui/display/Card";
import { formatAgo, formatCount, formatNumber, formatTime } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { showError } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { PREFERENCES_FILE, preferencesQuery, removePreference } from "../queries";

const TALLY_COLUMNS = [
  { header: "Model" },
  { header: "Opponent" },
  { header: "Preferred" },
  { header: "Both good", align: "end" as const },
  { header: "Both bad", align: "end" as const },
];

/** The tallies of all votes, the latest votes and the preference export. */
export function VotesCard({ isAdmin }: { isAdmin: boolean }): ReactElement {
  const votes = useQuery(preferencesQuery);
  return (
    <Card title="Votes">
      {votes.isPending ? <Loading what="Loading votes…" /> : null}
      {votes.isError ? (
        <ErrorNotice error={votes.error} title="Could not load the votes" onRetry={() => void votes.refetch()} />
      ) : null}
      {votes.data ? <Votes votes={votes.data} isAdmin={isAdmin} /> : null}
    </Card>
  );
}

function Votes({ votes, isAdmin }: { votes: PreferenceList; isAdmin: boolean }): ReactElement {
  if (votes.data.length === 0) {
    return <p>No votes yet. Each vote becomes a preference pair: a prompt, a chosen and a rejected answer.</p>;
  }
  return (
    <>
      <p>{formatCount(votes.pagination.total, "vote")}, as preference pairs for training:</p>
      <div>
        <a className={buttonClass()} href={PREFERENCES_FILE} download>
          Download pairs
        </a>
      </div>
      {votes.tallies.length === 0 ? null : (
        <PlainTable name="Tallies" columns={TALLY_COLUMNS} rows={votes.tallies.map(tallyRow)} />
      )}
      <NewestVotes votes={votes.data} isAdmin={isAdmin} />
    </>
  );
}

function tallyRow({ model, other, wins, num_ties, num_neither }: PairTally) {
  const { count, n, low, high } = wins;
  return {
    key: `${model} ${other}`,
    cells: [
      model,
      other,
      n === 0 ? "no decisive votes" : <Interval key="wins" value={count / n} low={low} high={high} n={n} />,
      formatNumber(num_ties),
      formatNumber(num_neither),
    ],
  };
}

function NewestVotes({ votes, isAdmin }: { votes: readonly Preference[]; isAdmin: boolean }): ReactElement {
  const columns = [
    { header: "Question" },
    { header: "Preferred" },
    { header: "Rejected" },
    { header: "Time" },
    ...(isAdmin ? [{ header: "Actions" }] : []),
  ];
  const rows = votes.map((vote) => ({
    key: vote.id,
    cells: [
      <Sentence key="question">{questionOf(vote)}</Sentence>,
      ...outcome(vote),
      <time key="when" title={formatTime(vote.created_at)}>
        {formatAgo(vote.created_at)}
      </time>,
      ...(isAdmin ? [<DeleteVote key="act" voteId={vote.id} />] : []),
    ],
  }));
  return <PlainTable name="Latest votes" columns={columns} rows={rows} />;
}

function questionOf({ messages }: Preference): string {
  const content = messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

function outcome({ choice, a, b }: Preference): [string, string] {
  if (choice === "a") return [a.model, b.model];
  if (choice === "b") return [b.model, a.model];
  return [choice === "tie" ? "both are good" : "both are bad", `${a.model}, ${b.model}`];
}

function DeleteVote({ voteId }: { voteId: string }): ReactElement {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => removePreference(voteId),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["preferences"] }),
    onError: showError,
  });
  return (
    <Button
      kind="quiet"
      isBusy={remove.isPending}
      onClick={() => {
        remove.mutate();
      }}
    >
      Delete
    </Button>
  );
}
