import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { buttonClass } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { xrayCommand, xrayPath, type XraySearch } from "./search";
import { XrayOptions } from "./XrayOptions";
import { XrayPanel } from "./XrayPanel";

const route = getRouteApi("/datasets/$datasetKey/xray");

/** A dataset as training sees it, with each token trained, masked or padding. */
export function XrayScreen(): ReactElement {
  const { datasetKey } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: XraySearchChange): void => {
    void navigate({ search: withChanges<XraySearch>(changes), replace: true });
  };
  const copied = snippets({ cli: xrayCommand(datasetKey, search), path: xrayPath(datasetKey, search) });
  return (
    <Page
      title={`X-ray of ${datasetKey}`}
      actions={
        <>
          <CopyAs snippets={copied} />
          <a
            href={xrayPath(datasetKey, search, "xray.html")}
            download={`${datasetKey}.xray.html`}
            className={buttonClass()}
          >
            Save as HTML
          </a>
          <Link to="/datasets/$datasetKey" params={{ datasetKey }} className={buttonClass()}>
            Back to dataset
          </Link>
        </>
      }
    >
      <XrayOptions datasetKey={datasetKey} search={search} onChange={change} />
      <XrayPanel datasetKey={datasetKey} search={search} onChange={change} />
    </Page>
  );
}

type XraySearchChange = { [Key in keyof XraySearch]: XraySearch[Key] | undefined };
