import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { VersionDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { Tabs } from "../../../ui/layout/Tabs";
import { AliasBadges } from "../model/VersionTable";
import { referenceOf, removeVersion } from "../queries";
import { CardTab } from "./CardTab";
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
            Chat
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

/** Deletes a version after confirmation. */
function DeleteVersion({ version }: { version: VersionDetail }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const reference = referenceOf(version);
  const remove = useMutation({
    mutationFn: () => removeVersion(version.id),
    onSuccess: async () => {
      await navigate({ to: "/models/$model", params: { model: version.model } });
      queryClient.removeQueries({ queryKey: ["models", "versions", version.id] });
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      showToast(`Deleted ${reference}.`);
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="quiet"
        onClick={() => {
          setConfirming(true);
        }}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title={`Delete ${reference}?`}
        isOpen={isConfirming}
        confirmLabel="Delete version"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        Its registered weights are deleted when <code>tunix-rt models gc</code> runs. The source run and its evaluations
        stay. A version used by an alias, a baseline or a training run cannot be deleted.
      </ConfirmDialog>
    </>
  );
}
