import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { buttonClass } from "../../ui/forms/Button";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/Page";
import { listCommand, listPath, type RunFilters } from "./filters";
import { QueueSummary } from "./QueueSummary";
import { RunFilterBar } from "./RunFilterBar";
import { RunTable } from "./RunTable";

const route = getRouteApi("/runs");

/** Every run of this home with its live state; the filters are in the URL. */
export function RunsScreen(): ReactElement {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Partial<RunFilters>): void => {
    void navigate({ search: withChanges<RunFilters>(changes), replace: true });
  };
  return (
    <Page
      title="Runs"
      aside={<QueueSummary />}
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(filters), path: listPath(filters) })} />
          <Link to="/launch" className={buttonClass("primary")}>
            Start a run
          </Link>
        </>
      }
    >
      <RunFilterBar filters={filters} onChange={change} />
      <RunTable filters={filters} />
    </Page>
  );
}
