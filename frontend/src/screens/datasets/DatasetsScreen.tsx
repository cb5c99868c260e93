import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { buttonClass } from "../../ui/forms/Button";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/Page";
import { DatasetTable } from "./list/DatasetTable";

const route = getRouteApi("/datasets");
const LIST = snippets({ cli: "tunix-rt data list", path: "/api/datasets" });

/** Every dataset of this home. */
export function DatasetsScreen(): ReactElement {
  const { chosen = [] } = route.useSearch();
  const navigate = route.useNavigate();
  const [base, other] = [...chosen].sort();
  return (
    <Page
      title="Datasets"
      actions={
        <>
          <CopyAs snippets={LIST} />
          {base !== undefined && other !== undefined ? (
            <Link
              to="/datasets/$datasetKey/diff"
              params={{ datasetKey: base }}
              search={{ other }}
              className={buttonClass()}
            >
              Compare the two
            </Link>
          ) : null}
          <Link to="/datasets/new" className={buttonClass("primary")}>
            Build a dataset
          </Link>
        </>
      }
    >
      <DatasetTable
        chosen={chosen}
        onChoose={(next) => {
          void navigate({ search: withChanges<{ chosen?: string[] }>({ chosen: next }), replace: true });
        }}
      />
    </Page>
  );
}
