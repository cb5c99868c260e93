import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { buttonClass } from "../../ui/forms/Button";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/Page";
import { listCommand, listPath, type RunSearch } from "./filters";
import { QueueSummary } from "./QueueSummary";
import { RunFilterBar } from "./RunFilterBar";
import { RunTable } from "./RunTable";

const route = getRouteApi("/runs");

/** Every run of this home with its live state; the filters are in the URL. */
export function RunsScreen(): ReactElement {
  const { pick = [], ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Partial<RunSearch>): void => {
    void navigate({ search: withChanges<RunSearch>(changes), replace: true });
  };
  return (
    <Page
      title="Runs"
      about="Every training with its state as it is now."
      aside={<QueueSummary />}
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(filters), path: listPath(filters) })} />
          {pick.length > 0 ? (
            <Link to="/compare" search={{ run: pick }} className={buttonClass()}>
              Compare the {pick.length} marked
            </Link>
          ) : null}
          <Link to="/launch" className={buttonClass("primary")}>
            Start a run
          </Link>
        </>
      }
    >
      <RunFilterBar filters={filters} onChange={change} />
      <RunTable
        filters={filters}
        picked={pick}
        onPick={(runIds) => {
          change({ pick: runIds });
        }}
      />
    </Page>
  );
}
