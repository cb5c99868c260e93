import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button } from "../../../ui/forms/Button";
import { EXACTLY, SavedViews } from "../../../ui/navigation/SavedViews";
import { withChanges } from "../../../ui/navigation/search";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { Page } from "../../../ui/Page";
import { filtersOf, listCommand, listPath, traceSearch, type TraceSearch, type TraceSearchChange } from "./filters";
import { ImportDialog } from "./ImportDialog";
import { TraceFilterBar } from "./TraceFilterBar";
import { TraceTable } from "./TraceTable";
import { UnscoredNotice } from "./UnscoredNotice";
import { TRACE_VIEWS } from "./views";
import { useCanWrite } from "../parts/useCanWrite";

const route = getRouteApi("/traces");

/** Every stored trace. Filters and order are in the URL and can be saved as a view. */
export function TracesScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const canWrite = useCanWrite();
  const [isImporting, setImporting] = useState(false);
  const change = (changes: TraceSearchChange): void => {
    void navigate({ search: withChanges<TraceSearch>(changes), replace: true });
  };
  const openImport = (): void => {
    setImporting(true);
  };
  useScreenAction("Import traces from a file", NEW_KEY, openImport);
  return (
    <Page
      title="Traces"
      about="Worked solutions: a prompt, the steps that solve it, and the answer. The linter checks and scores every step."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(search), path: listPath(search) })} />
          {canWrite ? (
            <Button kind="primary" onClick={openImport}>
              Import a file
            </Button>
          ) : null}
        </>
      }
    >
      <SavedViews
        list="traces"
        builtIn={TRACE_VIEWS}
        search={search}
        read={traceSearch}
        link={(view, props) => <Link to="/traces" search={view} activeOptions={EXACTLY} {...props} />}
      />
      <TraceFilterBar search={search} onChange={change} />
      <UnscoredNotice filters={filtersOf(search)} />
      <TraceTable search={search} onChange={change} onImport={openImport} />
      <ImportDialog
        isOpen={isImporting}
        onClose={() => {
          setImporting(false);
        }}
      />
    </Page>
  );
}
