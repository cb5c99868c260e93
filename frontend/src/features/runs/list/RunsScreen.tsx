import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { buttonClass } from "../../../ui/forms/Button";
import { EXACTLY, SavedViews } from "../../../ui/navigation/SavedViews";
import { withChanges } from "../../../ui/navigation/search";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { Page } from "../../../ui/Page";
import { listCommand, listPath, type RunFilters, runSearch, type RunSearch } from "./filters";
import { QueueSummary } from "./QueueSummary";
import { RunFilterBar } from "./RunFilterBar";
import { RunTable } from "./RunTable";
import { RUN_VIEWS } from "./views";

const route = getRouteApi("/runs");

/** Every run of this home with its live status. The filters are in the URL. */
export function RunsScreen(): ReactElement {
  const { pick = [], ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Partial<RunSearch>): void => {
    void navigate({ search: withChanges<RunSearch>(changes), replace: true });
  };
  useScreenAction("Launch a run", NEW_KEY, () => void navigate({ to: "/launch" }));
  return (
    <Page
      title="Runs"
      about="All training runs with live status."
      aside={<QueueSummary />}
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(filters), path: listPath(filters) })} />
          {pick.length > 0 ? (
            <Link to="/compare" search={{ run: pick }} className={buttonClass()}>
              Compare {pick.length} selected
            </Link>
          ) : null}
          <Link to="/launch" className={buttonClass("primary")}>
            {" "}
            Launch a run{" "}
          </Link>
        </>
      }
    >
      <SavedViews
        list="runs"
        builtIn={RUN_VIEWS}
        search={filters}
        read={readFilters}
        link={(view, props) => <Link to="/runs" search={view} activeOptions={EXACTLY} {...props} />}
      />
      <RunFilterBar filters={filters} onChange={change} />
      <RunTable
        filters={filters}
        selected={pick}
        onSelect={(runIds) => {
          change({ pick: runIds });
        }}
      />
    </Page>
  );
}

/** A view stores filters, not the selection. */
function readFilters(raw: Record<string, unknown>): RunFilters {
  const { pick: _, ...filters } = runSearch(raw);
  return filters;
}
