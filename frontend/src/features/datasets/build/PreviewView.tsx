import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DatasetPreview, DatasetSpec } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber } from "../../../ui/display/format";
import { rowCountBars } from "../rowCounts";
import styles from "./build.module.css";
import { type BuildChange, nextVersion } from "./form";

interface PreviewViewProps {
  preview: DatasetPreview;
  spec: DatasetSpec | null;
  onChange: (changes: BuildChange) => void;
}

/** The counts, and any problem that would stop the build with a button that fixes it. */
export function PreviewView({ preview, spec, onChange }: PreviewViewProps): ReactElement {
  return (
    <div className={styles.steps}>
      <Card title="Rows in this build">
        <p role="status" className={styles.total}>
          {formatCount(preview.num_rows, "row")}
        </p>
        <p className={styles.muted}>
          of {preview.matching_is_exact ? "" : "more than "}
          {formatCount(preview.num_matching, "trace")} matching the filters
        </p>
        {preview.is_partial ? (
          <p className={styles.notice}>
            Based on the first {formatNumber(preview.num_considered)} of them. The build considers all.
          </p>
        ) : null}
        {preview.num_unscored > 0 ? (
          <p className={styles.notice}>
            {formatCount(preview.num_unscored, "trace")} not linted yet are not counted. The build lints them first.
          </p>
        ) : null}
      </Card>
      <Problems preview={preview} spec={spec} onChange={onChange} />
      {preview.num_considered === 0 ? null : (
        <>
          <Bars title="From traces to rows" bars={rowCountBars(preview)} />
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
        <Card title="No matching traces">
          <p>Relax the filters, or import traces first.</p>
          <Link to="/traces">View traces</Link>
        </Card>
      ) : null}
      {isRefused ? (
        <Card title="Eval set overlap">
          <p>
            {formatCount(preview.num_overlapping_rows, "row")} repeat questions of an eval set. A model trained on them
            would have seen the answers, so the build is refused.
          </p>
          <div className={styles.submit}>
            <Button
              onClick={() => {
                onChange({ contamination: "remove" });
              }}
            >
              Remove them
            </Button>
          </div>
        </Card>
      ) : null}
      {preview.is_taken && spec !== null ? (
        <Card title={`${preview.dataset_key} already exists`}>
          <p>Datasets are immutable. Different content needs a new version.</p>
          <div className={styles.submit}>
            <Button
              onClick={() => {
                onChange({ version: nextVersion(spec.dataset_version ?? "v1"), parent: preview.dataset_key });
              }}
            >
              Use {nextVersion(spec.dataset_version ?? "v1")}
            </Button>
          </div>
        </Card>
      ) : null}
    </>
  );
}
