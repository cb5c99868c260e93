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
import { NEW_KEY, useScreenAct } from "../../../ui/navigation/useScreenAction";
import { Page } from "../../../ui/Page";
import { Card } from "../../../ui/display/Card";
import { BaselineTable } from "./BaselineTable";
import { HistoryTable } from "./HistoryTable";
import { NewBaselineForm } from "./NewBaselineForm";

const route = getRouteApi("/gates");

/** The named baselines, how the gates stand, and every verdict that was given. */
export function GatesScreen(): ReactElement {
  const { making = false, evaluation = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const mayWrite = session !== undefined && session.scope !== "read";
  const show = (isMaking: boolean): void => {
    void navigate({ search: isMaking ? { making: true } : {} });
  };
  useScreenAct("Make a baseline", NEW_KEY, () => {
    show(true);
  });
  return (
    <Page
      title="Gates"
      about="May a new model take the place of the one you have? A gate answers from what both wrote."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt baselines list", path: "/api/regression/baselines" })} />
          {mayWrite && !making ? (
            <Button
              kind="primary"
              onClick={() => {
                show(true);
              }}
            >
              Make a baseline
            </Button>
          ) : null}
        </>
      }
    >
      {making && mayWrite ? (
        <Card title="A new baseline">
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
  if (baselines.isPending || checks.isPending) return <Loading what="Reading the gates…" />;
  const failed = baselines.isError ? baselines : checks;
  if (failed.isError) {
    return (
      <ErrorNotice error={failed.error} title="The gates could not be read" onRetry={() => void failed.refetch()} />
    );
  }
  const found = baselines.data?.data ?? [];
  const history = checks.data?.data ?? [];
  return (
    <>
      {found.length === 0 ? <NoBaselines /> : <BaselineTable baselines={found} checks={history} />}
      {history.length === 0 ? null : (
        <Card title="Newest verdicts">
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
        A gate says whether a new model may take the place of the one you have. Name the evaluation of that one; a new
        evaluation then fails on a loss that chance does not explain, and on protected items that are no longer right.
      </p>
      <Command>tunix-rt baselines set main RUN</Command>
    </Empty>
  );
}
