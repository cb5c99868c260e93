import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { leaderboardQuery } from "../queries";
import { faithfulnessListQuery } from "../faithfulness/queries";
import type { Leaderboard } from "../../../api/schema.gen";
import type { Changes } from "../shared/changes";
import { Command } from "../../../ui/copy/Command";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { formatCount } from "../../../ui/display/format";
import { boardCommand, type BoardFilters, boardPath, boardQuery } from "./filters";
import { GroupCard } from "./GroupCard";
import { LeaderboardFilters } from "./LeaderboardFilters";
import styles from "./leaderboard.module.css";

const route = getRouteApi("/leaderboard");

/** Models ranked within their evaluation protocol, base models included. */
export function LeaderboardScreen(): ReactElement {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const board = useQuery({ ...leaderboardQuery(boardQuery(filters)), placeholderData: (previous) => previous });
  const change = (changes: Changes<BoardFilters>): void => {
    void navigate({ search: withChanges<BoardFilters>(changes), replace: true });
  };
  return (
    <Page
      title="Leaderboard"
      about="Models ranked on the same questions and protocol, with confidence intervals."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: boardCommand(filters), path: boardPath(filters) })} />
          <Link to="/evaluations/compare" search={{}} className={buttonClass("primary")}>
            Compare evaluations
          </Link>
        </>
      }
    >
      <LeaderboardFilters filters={filters} onChange={change} />
      {board.isPending ? <Loading what="Ranking the models…" /> : null}
      {board.isError ? (
        <ErrorNotice error={board.error} title="Could not load the leaderboard" onRetry={() => void board.refetch()} />
      ) : null}
      {board.isSuccess ? <Groups board={board.data} isFiltered={Object.keys(filters).length > 0} /> : null}
    </Page>
  );
}

function Groups({ board, isFiltered }: { board: Leaderboard; isFiltered: boolean }): ReactElement {
  const reports = useQuery(faithfulnessListQuery());
  if (board.groups.length === 0) return <NoModels isFiltered={isFiltered} />;
  return (
    <>
      <p role="status">{summary(board)}</p>
      {board.groups.map((group) => (
        <GroupCard key={group.fingerprint} group={group} reports={reports.data?.data ?? []} />
      ))}
      <p className={styles.muted}>
        A rank is 1 + the number of models whose entire interval is higher; tied models (=) cannot be distinguished. “vs
        base” is the gain over the base model in points; the comparison shows whether it is significant. “Follows
        errors” is how often the answer changes with an error injected into the reasoning steps: a model whose steps do
        not matter does not follow it.
      </p>
    </>
  );
}

function summary({ groups, num_evaluations, num_superseded }: Leaderboard): string {
  const parts = [formatCount(num_evaluations, "evaluation")];
  if (groups.length > 1) parts.push(`${groups.length} protocols (scores not comparable)`);
  if (num_superseded > 0) parts.push(`${formatCount(num_superseded, "older evaluation")} hidden`);
  return `${parts.join("; ")}.`;
}

function NoModels({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No evaluations match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No models to rank yet">
      <p>Evaluate a trained model and its base model on the same eval set.</p>
      <Command>tunix-rt eval RUN --eval-set eval_v2</Command>
    </Empty>
  );
}
