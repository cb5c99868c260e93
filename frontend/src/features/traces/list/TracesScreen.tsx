import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { formatCount } from "../../../ui/display/format";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { EXACTLY, SavedViews } from "../../../ui/navigation/SavedViews";
import { withChanges } from "../../../ui/navigation/search";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import type { View } from "../../../ui/navigation/views";
import { Page } from "../../../ui/layout/Page";
import { useCanWrite } from "../parts/useCanWrite";
import { numUnscoredQuery, scoreTraces, type TraceFilters } from "../queries";
import { filtersOf, listCommand, listPath, traceSearch, type TraceSearch, type TraceSearchChange } from "./filters";
import { ImportDialog } from "./ImportDialog";
import styles from "./list.module.css";
import { TraceFilterBar } from "./TraceFilterBar";
import { TraceTable } from "./TraceTable";

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

/** Reports traces that have no score yet, and offers to lint them. */
function UnscoredNotice({ filters }: { filters: TraceFilters }): ReactElement | null {
  const queryClient = useQueryClient();
  const canWrite = useCanWrite();
  const numUnscored = useQuery(numUnscoredQuery(filters)).data ?? 0;
  const scoring = useMutation({
    mutationFn: () => scoreTraces(filters),
    onSuccess: async ({ num_scored }) => {
      showToast(`Linted ${formatCount(num_scored, "trace")}.`);
      await queryClient.invalidateQueries({ queryKey: ["traces"] });
    },
    onError: showError,
  });
  if (numUnscored === 0) return null;
  const verb = numUnscored === 1 ? "has" : "have";
  return (
    <p className={styles.notice}>
      <span>
        {formatCount(numUnscored, "trace")} {verb} not been linted, so there are no scores or findings to filter by.
      </span>
      {canWrite ? (
        <Button
          isBusy={scoring.isPending}
          onClick={() => {
            scoring.mutate();
          }}
        >
          {scoring.isPending ? "Linting…" : "Lint now"}
        </Button>
      ) : null}
    </p>
  );
}

/** Built-in views. */
const TRACE_VIEWS: readonly View<TraceSearch>[] = [
  { name: "All", search: {} },
  { name: "Lowest scores", search: { order: "worst" } },
  { name: "Wrong arithmetic", search: { code: ["arithmetic-wrong"] } },
  { name: "Answer mismatch", search: { code: ["answer-mismatch"] } },
  { name: "Reviewed", search: { meta: ["reviewed=true"] } },
];
