import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { ModelTable } from "./ModelTable";
import { RegisterDialog } from "./RegisterDialog";

const route = getRouteApi("/models");

/** Every registered model. */
export function ModelsScreen(): ReactElement {
  const { registering = false, run = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const canWrite = session !== undefined && session.scope !== "read";
  const show = (isRegistering: boolean): void => {
    void navigate({ search: isRegistering ? { registering: true } : {} });
  };
  return (
    <Page
      title="Models"
      about="Registered weights with their versions, aliases and lineage."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt models list", path: "/api/models" })} />
          {canWrite ? (
            <Button
              kind="primary"
              onClick={() => {
                show(true);
              }}
            >
              Register a run
            </Button>
          ) : null}
        </>
      }
    >
      <ModelTable />
      <RegisterDialog
        key={run}
        runId={run}
        isOpen={registering && canWrite}
        onClose={() => {
          show(false);
        }}
      />
    </Page>
  );
}
