import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { baselinesQuery, checksQuery } from "./queries";
import { sessionQuery } from "../../../api/session";
import { Command } from "../../../ui/copy/Command";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { Page } from "../../../ui/layout/Page";
import { Card } from "../../../ui/display/Card";
import { BaselineTable } from "./BaselineTable";
import { HistoryTable } from "./HistoryTable";
import { NewBaselineForm } from "./NewBaselineForm";

const route = getRouteApi("/gates");

/** The baselines with their latest results, and the history of all checks. */
export function GatesScreen(): ReactElement {
  const { making = false, evaluation = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const canWrite = session !== undefined && session.scope !== "read";
  const show = (isMaking: boolean): void => {
    void navigate({ search: isMaking ? { making: true } : {} });
  };
  useScreenAction("New baseline", NEW_KEY, () => {
    show(true);
  });
  return (
    <Page
      title="Gates"
      about="Regression gates: does a new model hold up against the current one on the same items?"
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt baselines list", path: "/api/regression/baselines" })} />
          {canWrite && !making ? (
            <Button
              kind="primary"
              onClick={() => {
                show(true);
              }}
            >
              New baseline
            </Button>
          ) : null}
        </>
      }
    >
      {making && canWrite ? (
        <Card title="New baseline">
          <NewBaselineForm
            evaluationId={evaluation}
            onClose={() => {
              show(false);
            }}
          />
        </Card>
      ) : null}
      <Baselines />
    </Page>
  );
}

function Baselines(): ReactElement {
  const baselines = useQuery(baselinesQuery);
  const checks = useQuery(checksQuery());
  if (baselines.isPending || checks.isPending) return <Loading what="Loading gates…" />;
  const failed = baselines.isError ? baselines : checks;
  if (failed.isError) {
    return <ErrorNotice error={failed.error} title="Could not load the gates" onRetry={() => void failed.refetch()} />;
  }
  const found = baselines.data?.data ?? [];
  const history = checks.data?.data ?? [];
  return (
    <>
      {found.length === 0 ? <NoBaselines /> : <BaselineTable baselines={found} checks={history} />}
      {history.length === 0 ? null : (
        <Card title="Latest checks">
          <HistoryTable checks={history} showsBaseline />
        </Card>
      )}
    </>
  );
}

function NoBaselines(): ReactElement {
  return (
    <Empty title="No baselines yet">
      <p>
        A gate checks a new model against the current one. Save an evaluation of the current model as a baseline; a new
        evaluation then fails on a statistically significant loss, or if protected items are no longer correct.
      </p>
      <Command>tunix-rt baselines set main RUN</Command>
    </Empty>
  );
}
