import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { formatCount } from "../../../ui/display/format";
import styles from "./compare.module.css";
import { NamedRun } from "./RunKey";
import { RunChooser } from "./RunChooser";
import type { ChangeCompare, CompareSearch } from "./search";

interface ChosenRunsProps {
  runIds: readonly string[];
  search: CompareSearch;
  change: ChangeCompare;
}

/** The runs that are compared, each with its line; the first is the base. More can be chosen from the list of all. */
export function ChosenRuns({ runIds, search, change }: ChosenRunsProps): ReactElement {
  const isChoosing = search.choose === true || runIds.length === 0;
  return (
    <Card title={runIds.length === 0 ? "Choose runs" : `${formatCount(runIds.length, "run")}, the first is the base`}>
      {runIds.length === 0 ? null : (
        <ul className={styles.chosen} aria-label="Chosen runs">
          {runIds.map((runId, index) => (
            <li key={runId}>
              <NamedRun runId={runId} index={index} />
              {index === 0 ? null : <MakeBase runId={runId} runIds={runIds} change={change} />}
              <Button
                kind="quiet"
                aria-label={`Leave out ${runId}`}
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
            {isChoosing ? "Close the list" : "Choose runs…"}
          </Button>
        </div>
      )}
      {isChoosing ? <RunChooser runIds={runIds} text={search.text} change={change} /> : null}
    </Card>
  );
}

function MakeBase({ runId, runIds, change }: { runId: string } & Omit<ChosenRunsProps, "search">): ReactElement {
  return (
    <Button
      kind="quiet"
      aria-label={`Make ${runId} the base`}
      onClick={() => {
        change({ run: [runId, ...runIds.filter((other) => other !== runId)] });
      }}
    >
      Make base
    </Button>
  );
}
