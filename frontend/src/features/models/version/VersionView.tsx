import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { referenceOf } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/Page";
import { Tabs } from "../../../ui/Tabs";
import { AliasBadges } from "../model/VersionTable";
import { CardTab } from "./CardTab";
import { DeleteVersion } from "./DeleteVersion";
import { ExportTab } from "./ExportTab";
import { FilesTab } from "./FilesTab";
import { Overview } from "./Overview";
import type { VersionTab } from "./tabs";

const TABS = [
  { key: "overview", label: "Overview" },
  { key: "files", label: "Files" },
  { key: "card", label: "Card" },
  { key: "export", label: "Export" },
] as const;

interface VersionViewProps {
  version: VersionDetail;
  tab: VersionTab;
  onTab: (tab: VersionTab) => void;
}

export function VersionView({ version, tab, onTab }: VersionViewProps): ReactElement {
  const { data: session } = useQuery(sessionQuery);
  const canWrite = session !== undefined && session.scope !== "read";
  const reference = referenceOf(version);
  const copied = snippets({ cli: `tunix-rt models show ${reference}`, path: `/api/models/versions/${version.id}` });
  return (
    <Page
      title={reference}
      aside={version.aliases?.length ? <AliasBadges aliases={version.aliases} /> : null}
      actions={
        <>
          <CopyAs snippets={copied} />
          {session?.scope === "admin" ? <DeleteVersion version={version} /> : null}
          <Link
            to="/chat"
            search={{ model: reference }}
            className={buttonClass(tab === "export" ? "plain" : "primary")}
          >
            {" "}
            Chat{" "}
          </Link>
        </>
      }
    >
      <p>
        A version of{" "}
        <Link to="/models/$model" params={{ model: version.model }}>
          {version.model}
        </Link>
        . Its content and lineage are immutable.
      </p>
      <Tabs label="Version sections" tabs={TABS} chosen={tab} onChoose={onTab}>
        {tab === "overview" ? (
          <Overview version={version} canWrite={canWrite} canRemove={session?.scope === "admin"} />
        ) : null}
        {tab === "files" ? <FilesTab version={version} /> : null}
        {tab === "card" ? <CardTab version={version} /> : null}
        {tab === "export" ? <ExportTab version={version} canWrite={canWrite} /> : null}
      </Tabs>
    </Page>
  );
}
