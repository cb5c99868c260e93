import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TraceRevision } from "../../../api/schema.gen";
import { revisionsQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Card } from "../../../ui/display/Card";
import { formatAgo, formatTime } from "../../../ui/display/format";
import { ScoreBadge } from "../parts/ScoreBadge";
import { shortId } from "../parts/labels";
import styles from "./trace.module.css";

/** The versions of a trace: the original and the result of each review. */
export function VersionsCard({ traceId }: { traceId: string }): ReactElement {
  const revisions = useQuery(revisionsQuery(traceId));
  return (
    <Card title="Versions">
      {revisions.isPending ? <Loading what="Loading versions…" /> : null}
      {revisions.isError ? <ErrorNotice error={revisions.error} onRetry={() => void revisions.refetch()} /> : null}
      {revisions.data?.data.length === 1 ? (
        <p>This trace has not been reviewed. Saving a review creates a new version and leaves this one unchanged.</p>
      ) : (
        <ul className={styles.versions}>
          {revisions.data?.data.map((version) => (
            <li key={version.id}>
              <Version version={version} isThis={version.id === traceId} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Version({ version, isThis }: { version: TraceRevision; isThis: boolean }): ReactElement {
  const { id, created_at, score, revision_of, step_verdicts } = version;
  return (
    <>
      <span className={styles.version}>
        {isThis ? (
          <strong>{shortId(id)} (this version)</strong>
        ) : (
          <Link to="/traces/$traceId" params={{ traceId: id }}>
            {shortId(id)}
          </Link>
        )}
        <ScoreBadge score={score} />
        <time title={formatTime(created_at)}>{formatAgo(created_at)}</time>
      </span>
      <span className={styles.version}>
        {revision_of === null ? "original" : verdictsText(step_verdicts)}
        {revision_of === null ? null : (
          <Link to="/traces/compare" search={{ base: revision_of, other: id }}>
            Compare with {shortId(revision_of)}
          </Link>
        )}
      </span>
    </>
  );
}

/** `{0: "accepted", 1: "edited"}` → `1 accepted, 1 edited`. */
function verdictsText(verdicts: TraceRevision["step_verdicts"]): string {
  const given = Object.values(verdicts);
  const counts = (["accepted", "edited", "rejected"] as const).map((verdict) => ({
    verdict,
    count: given.filter((one) => one === verdict).length,
  }));
  const words = counts.filter(({ count }) => count > 0).map(({ verdict, count }) => `${count} ${verdict}`);
  return words.join(", ") || "answer changed";
}
