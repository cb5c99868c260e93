import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { Button } from "../../ui/forms/Button";
import { useActions } from "../../ui/navigation/actions";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/Page";
import { filtersOf, listCommand, listPath, type TraceSearch, type TraceSearchChange } from "./list/filters";
import { ImportDialog } from "./list/ImportDialog";
import { SavedViews } from "./list/SavedViews";
import { TraceFilterBar } from "./list/TraceFilterBar";
import { TraceTable } from "./list/TraceTable";
import { UnscoredNotice } from "./list/UnscoredNotice";
import { useMayWrite } from "./parts/useMayWrite";

const route = getRouteApi("/traces");

/** Every stored trace; filters and order are in the URL, and any of them can be kept as a view. */
export function TracesScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayWrite = useMayWrite();
  const [isImporting, setImporting] = useState(false);
  const change = (changes: TraceSearchChange): void => {
    void navigate({ search: withChanges<TraceSearch>(changes), replace: true });
  };
  const openImport = (): void => {
    setImporting(true);
  };
  useActions(useMemo(() => [{ label: "Import traces from a file", run: openImport }], []));
  return (
    <Page
      title="Traces"
      about="Worked solutions: a prompt, the steps that solve it, the answer. Every step is read, and scored."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(search), path: listPath(search) })} />
          {mayWrite ? (
            <Button kind="primary" onClick={openImport}>
              Import a file
            </Button>
          ) : null}
        </>
      }
    >
      <SavedViews search={search} />
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
