import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Changes } from "../../ui/evaluations/changes";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { buttonClass } from "../../ui/forms/Button";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/Page";
import { EvaluationFilterBar } from "./EvaluationFilterBar";
import { EvaluationTable } from "./EvaluationTable";
import { type EvaluationFilters, listCommand, listPath } from "./filters";

const route = getRouteApi("/evaluations");

/** Every evaluation with its score; two that are marked can be compared. */
export function EvaluationsScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Changes<EvaluationFilters>): void => {
    void navigate({ search: withChanges<EvaluationFilters>(changes), replace: true });
  };
  const [base, other] = search.pick ?? [];
  return (
    <Page
      title="Evaluations"
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(search), path: listPath(search) })} />
          <Link to="/evaluations/faithfulness" className={buttonClass()}>
            Faithfulness reports
          </Link>
          <Link
            to="/evaluations/compare"
            search={{ ...(base !== undefined && { base }), ...(other !== undefined && { other }) }}
            className={buttonClass("primary")}
          >
            {other === undefined ? "Compare two" : "Compare the two marked"}
          </Link>
        </>
      }
    >
      <EvaluationFilterBar search={search} onChange={change} />
      <EvaluationTable
        search={search}
        onPick={(pick) => {
          change({ pick });
        }}
      />
    </Page>
  );
}
