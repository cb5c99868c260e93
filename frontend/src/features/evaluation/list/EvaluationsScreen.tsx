import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { sessionQuery } from "../../../api/session";
import type { Changes } from "../shared/changes";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { EvaluateDialog } from "../shared/EvaluateDialog";
import { TaskList } from "../../runs/shared/TaskList";
import { EvaluationFilterBar } from "./EvaluationFilterBar";
import { EvaluationTable } from "./EvaluationTable";
import { type EvaluationFilters, listCommand, listPath } from "../filters";

const route = getRouteApi("/evaluations");
const LISTED_STATUSES = ["queued", "running", "cancelling", "failed"] as const;

/** Every evaluation with its score. Two selected ones can be compared. */
export function EvaluationsScreen(): ReactElement {
  const opened = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Changes<EvaluationFilters>): void => {
    void navigate({ search: withChanges<EvaluationFilters>(changes), replace: true });
  };
  const { data: session } = useQuery(sessionQuery);
  const canWrite = session !== undefined && session.scope !== "read";
  const { evaluating = false, ...search } = opened;
  const [base, other] = search.pick ?? [];
  return (
    <Page
      title="Evaluations"
      about="The accuracy of each model, with confidence intervals."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(search), path: listPath(search) })} />
          <Link to="/evaluations/faithfulness" className={buttonClass()}>
            Faithfulness reports
          </Link>
          <Link
            to="/evaluations/compare"
            search={{ ...(base !== undefined && { base }), ...(other !== undefined && { other }) }}
            className={buttonClass(other === undefined ? "plain" : "primary")}
          >
            {other === undefined ? "Compare evaluations" : "Compare selected"}
          </Link>
          {canWrite ? (
            <Button
              kind={other === undefined ? "primary" : "plain"}
              onClick={() => {
                change({ evaluating: true });
              }}
            >
              Evaluate a model
            </Button>
          ) : null}
        </>
      }
    >
      <TaskList query={{ kind: "evaluation", status: [...LISTED_STATUSES], limit: 20 }} canWrite={canWrite} />
      <EvaluationFilterBar search={search} onChange={change} />
      <EvaluationTable
        search={search}
        onPick={(pick) => {
          change({ pick });
        }}
      />
      <EvaluateDialog
        isOpen={evaluating && canWrite}
        onClose={() => {
          change({ evaluating: undefined });
        }}
      />
    </Page>
  );
}
