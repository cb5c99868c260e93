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
import { Page } from "../../../ui/Page";
import { formatCount } from "../../../ui/display/format";
import { boardCommand, type BoardFilters, boardPath, boardQuery } from "./filters";
import { GroupCard } from "./GroupCard";
import { LeaderboardFilters } from "./LeaderboardFilters";
import styles from "./leaderboard.module.css";

const route = getRouteApi("/leaderboard");

/** Models ranked among those that were evaluated in the same way; the base models stand among them. */
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
      about="Models that were asked the same questions in the same way, with what chance allows."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: boardCommand(filters), path: boardPath(filters) })} />
          <Link to="/evaluations/compare" search={{}} className={buttonClass("primary")}>
            Compare two
          </Link>
        </>
      }
    >
      <LeaderboardFilters filters={filters} onChange={change} />
      {board.isPending ? <Loading what="Ranking the models…" /> : null}
      {board.isError ? (
        <ErrorNotice
          error={board.error}
          title="The leaderboard could not be read"
          onRetry={() => void board.refetch()}
        />
      ) : null}
      {board.isSuccess ? <Groups board={board.data} isFiltered={Object.keys(filters).length > 0} /> : null}
    </Page>
  );
}

function Groups({ board, isFiltered }: { board: Leaderboard; isFiltered: boolean }): ReactElement {
  const reports = useQuery(faithfulnessListQuery());
  if (board.groups.length === 0) return <Nobody isFiltered={isFiltered} />;
  return (
    <>
      <p role="status">{summary(board)}</p>
      {board.groups.map((group) => (
        <GroupCard key={group.fingerprint} group={group} reports={reports.data?.data ?? []} />
      ))}
      <p className={styles.muted}>
        A rank is 1 + the number of models whose whole interval lies above: models that share one (=) cannot be told
        apart. Points above the base are what training was worth; the flip board says whether chance explains them.
        “Follows its work” is how often the answer changes with an error planted in the shown work: a model whose work
        is decoration does not follow it.
      </p>
    </>
  );
}

function summary({ groups, num_evaluations, num_superseded }: Leaderboard): string {
  const parts = [formatCount(num_evaluations, "evaluation")];
  if (groups.length > 1) parts.push(`${groups.length} protocols, whose scores are not comparable`);
  if (num_superseded > 0) parts.push(`${formatCount(num_superseded, "older one")} of the same models left out`);
  return `${parts.join("; ")}.`;
}

function Nobody({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No evaluation fits these filters">
        <p>Clear the filters, or look for less.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nobody to rank yet">
      <p>Evaluate a trained model and the base model that it started from on the same eval set.</p>
      <Command>tunix-rt eval RUN --eval-set eval_v2</Command>
    </Empty>
  );
}
