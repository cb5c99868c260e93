import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { formatCount } from "../../../ui/display/format";
import styles from "./compare.module.css";
import { RunLegend } from "./RunLegend";
import { RunPicker } from "./RunPicker";
import type { ChangeCompare, CompareSearch } from "./search";

interface SelectedRunsProps {
  runIds: readonly string[];
  search: CompareSearch;
  change: ChangeCompare;
}

/** The runs being compared, each with its line style. The first is the base. More can be selected from the list. */
export function SelectedRuns({ runIds, search, change }: SelectedRunsProps): ReactElement {
  const isChoosing = search.choose === true || runIds.length === 0;
  return (
    <Card title={runIds.length === 0 ? "Select runs" : `${formatCount(runIds.length, "run")}, the first is the base`}>
      {runIds.length === 0 ? null : (
        <ul className={styles.chosen} aria-label="Selected runs">
          {runIds.map((runId, index) => (
            <li key={runId}>
              <RunLegend runId={runId} index={index} />
              {index === 0 ? null : <SetAsBase runId={runId} runIds={runIds} change={change} />}
              <Button
                kind="quiet"
                aria-label={`Remove ${runId}`}
                onClick={() => {
                  change({ run: runIds.filter((other) => other !== runId) });
                }}
              >
                ✕
              </Button>
            </li>
          ))}
        </ul>
      )}
      {runIds.length === 0 ? null : (
        <div>
          <Button
            aria-expanded={isChoosing}
            onClick={() => {
              change({ choose: isChoosing ? undefined : true });
            }}
          >
            {isChoosing ? "Close list" : "Select runs…"}
          </Button>
        </div>
      )}
      {isChoosing ? <RunPicker runIds={runIds} text={search.text} change={change} /> : null}
    </Card>
  );
}

function SetAsBase({ runId, runIds, change }: { runId: string } & Omit<SelectedRunsProps, "search">): ReactElement {
  return (
    <Button
      kind="quiet"
      aria-label={`Use ${runId} as base`}
      onClick={() => {
        change({ run: [runId, ...runIds.filter((other) => other !== runId)] });
      }}
    >
      Set as base
    </Button>
  );
}
