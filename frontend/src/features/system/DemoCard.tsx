import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { demoQuery, makeDemo } from "./queries";
import type { DemoFigures, DemoState } from "../../api/schema.gen";
import { Interval } from "../../ui/charts/Interval";
import { showError } from "../../ui/feedback/toasts";
import { Button } from "../../ui/forms/Button";
import { Badge } from "../../ui/display/Badge";
import { Card } from "../../ui/display/Card";
import { formatNumber, formatShare } from "../../ui/display/format";
import styles from "./home.module.css";

const DATASET = "demo-arithmetic-v2";

/** Offers the demo project, which is computed on this machine. */
export function DemoCard({ demo }: { demo: DemoState }): ReactElement {
  const queryClient = useQueryClient();
  const making = useMutation({
    mutationFn: makeDemo,
    onSuccess: (state) => {
      queryClient.setQueryData(demoQuery.queryKey, state);
    },
    onError: showError,
  });
  return (
    <Card title="Demo project">
      {demo.status === "none" ? (
        <p>
          See the whole workflow first: 3,000 worked sums become a checked dataset, and a tiny model is trained on this
          machine and tested before and after. It takes two to four minutes on two free cores, and its results appear on
          every screen.
        </p>
      ) : null}
      {demo.status === "running" ? <Making stage={demo.stage ?? "starting"} /> : null}
      {demo.figures ? <Learned figures={demo.figures} /> : null}
      {demo.status === "succeeded" ? <Made /> : null}
      {demo.failure ? <Failed text={demo.failure} /> : null}
      {demo.status === "running" ? null : (
        <div>
          <Button
            isBusy={making.isPending}
            onClick={() => {
              making.mutate();
            }}
          >
            {demo.status === "none" ? "Run the demo" : "Run again"}
          </Button>
        </div>
      )}
    </Card>
  );
}

function Making({ stage }: { stage: string }): ReactElement {
  const done = Number.parseInt(stage, 10);
  return (
    <div role="status">
      <progress aria-label="Demo project" max={10} {...(Number.isFinite(done) && { value: done - 1 })} />
      <p>{stageText(stage)}</p>
    </div>
  );
}

/** Formats `7/10 planning the training` as "Planning the training (step 7 of 10)". */
function stageText(stage: string): string {
  const [, part, stageName = stage] = /^(\d+)\/10 (.*)$/.exec(stage) ?? [];
  const sentence = stageName.charAt(0).toUpperCase() + stageName.slice(1);
  return part === undefined ? sentence : `${sentence} (step ${part} of 10)`;
}

/** Links to the results of the demo. */
function Made(): ReactElement {
  return (
    <p className={styles.made}>
      <Link to="/datasets/$datasetKey" params={{ datasetKey: DATASET }}>
        Dataset
      </Link>
      <Link to="/datasets/$datasetKey/xray" params={{ datasetKey: DATASET }}>
        Training tokens (X-ray)
      </Link>
      <Link to="/runs" search={{ dataset: DATASET }}>
        Run
      </Link>
      <Link to="/leaderboard">Leaderboard</Link>
    </p>
  );
}

function Learned({ figures }: { figures: DemoFigures }): ReactElement {
  const { before, after, low, high, num_items } = figures;
  return (
    <>
      <p>
        Accuracy on {formatNumber(num_items)} held-out questions before training: {formatShare(before)}. After:
      </p>
      <Interval value={after} low={low} high={high} n={num_items} />
    </>
  );
}

function Failed({ text }: { text: string }): ReactElement {
  return (
    <>
      <div>
        <Badge kind="bad" sign="✕">
          The demo failed
        </Badge>
      </div>
      <pre>{text}</pre>
    </>
  );
}
