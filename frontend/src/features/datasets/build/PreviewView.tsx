import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DatasetPreview, DatasetSpec } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber } from "../../../ui/display/format";
import { takenBars } from "../taken";
import styles from "./build.module.css";
import { type BuildChange, nextVersion } from "./form";

interface PreviewViewProps {
  preview: DatasetPreview;
  spec: DatasetSpec | null;
  onChange: (changes: BuildChange) => void;
}

/** The counts, and what would stop the build with the way out one click away. */
export function PreviewView({ preview, spec, onChange }: PreviewViewProps): ReactElement {
  return (
    <div className={styles.steps}>
      <Card title="The build would take">
        <p role="status" className={styles.total}>
          {formatCount(preview.num_rows, "row")}
        </p>
        <p className={styles.muted}>
          of {preview.matching_is_exact ? "" : "more than "}
          {formatCount(preview.num_matching, "trace")} that the filters let through
        </p>
        {preview.is_partial ? (
          <p className={styles.notice}>
            Counted over the first {formatNumber(preview.num_considered)} of them; the build looks at all.
          </p>
        ) : null}
        {preview.num_unscored > 0 ? (
          <p className={styles.notice}>
            {formatCount(preview.num_unscored, "trace")} not judged by the linter yet are not counted; the build judges
            them first.
          </p>
        ) : null}
      </Card>
      <Problems preview={preview} spec={spec} onChange={onChange} />
      {preview.num_considered === 0 ? null : (
        <>
          <Bars title="From the traces to the rows" bars={takenBars(preview)} />
          <Bars
            title="Rows per split"
            bars={Object.entries(preview.splits).map(([label, value]) => ({ label, value }))}
          />
        </>
      )}
    </div>
  );
}

function Problems({ preview, spec, onChange }: PreviewViewProps): ReactElement {
  const isRefused = !spec?.remove_contaminated && !spec?.allow_contamination && preview.num_overlapping_rows > 0;
  return (
    <>
      {preview.num_matching === 0 ? (
        <Card title="No trace fits">
          <p>Loosen the filters, or import traces first.</p>
          <Link to="/traces">Look at the traces</Link>
        </Card>
      ) : null}
      {isRefused ? (
        <Card title="Questions of an eval set">
          <p>
            {formatCount(preview.num_overlapping_rows, "row")} repeat what an eval set asks. A model trained on them
            would know the answers, so the build is refused.
          </p>
          <div className={styles.submit}>
            <Button
              onClick={() => {
                onChange({ contamination: "remove" });
              }}
            >
              Leave them out
            </Button>
          </div>
        </Card>
      ) : null}
      {preview.is_taken && spec !== null ? (
        <Card title={`${preview.dataset_key} is there already`}>
          <p>A dataset never changes. Other content needs another version.</p>
          <div className={styles.submit}>
            <Button
              onClick={() => {
                onChange({ version: nextVersion(spec.dataset_version ?? "v1"), parent: preview.dataset_key });
              }}
            >
              Make it {nextVersion(spec.dataset_version ?? "v1")}
            </Button>
          </div>
        </Card>
      ) : null}
    </>
  );
}
