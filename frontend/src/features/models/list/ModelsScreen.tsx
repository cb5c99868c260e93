import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button } from "../../../ui/forms/Button";
import { Page } from "../../../ui/Page";
import { ModelTable } from "./ModelTable";
import { RegisterDialog } from "./RegisterDialog";

const route = getRouteApi("/models");

/** Every registered model: the weights that were worth a name. */
export function ModelsScreen(): ReactElement {
  const { registering = false, run = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const mayWrite = session !== undefined && session.scope !== "read";
  const show = (isRegistering: boolean): void => {
    void navigate({ search: isRegistering ? { registering: true } : {} });
  };
  return (
    <Page
      title="Models"
      about="Trained weights that were worth a name, with everything that led to them."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt models list", path: "/api/models" })} />
          {mayWrite ? (
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
        isOpen={registering && mayWrite}
        onClose={() => {
          show(false);
        }}
      />
    </Page>
  );
}
