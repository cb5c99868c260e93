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

/** Offers the demo project: nothing of it is canned, this machine makes it. */
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
          See everything at work first: 3,000 worked sums become a checked dataset, a tiny model is trained on them on
          this machine, and is tested before and after. It takes two to four minutes on two free cores, and appears on
          every screen as it is made.
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
            {demo.status === "none" ? "Make the demo project" : "Make it again"}
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

/** `7/10 planning the training` as "Planning the training (part 7 of 10)". */
function stageText(stage: string): string {
  const [, part, act = stage] = /^(\d+)\/10 (.*)$/.exec(stage) ?? [];
  const sentence = act.charAt(0).toUpperCase() + act.slice(1);
  return part === undefined ? sentence : `${sentence} (part ${part} of 10)`;
}

/** Where what the demo made is to be seen. */
function Made(): ReactElement {
  return (
    <p className={styles.made}>
      <Link to="/datasets/$datasetKey" params={{ datasetKey: DATASET }}>
        Its dataset
      </Link>
      <Link to="/datasets/$datasetKey/xray" params={{ datasetKey: DATASET }}>
        What it was trained on, token by token
      </Link>
      <Link to="/runs" search={{ dataset: DATASET }}>
        Its run
      </Link>
      <Link to="/leaderboard">Before and after</Link>
    </p>
  );
}

function Learned({ figures }: { figures: DemoFigures }): ReactElement {
  const { before, after, low, high, num_items } = figures;
  return (
    <>
      <p>
        Right answers to {formatNumber(num_items)} held-out questions, before the training: {formatShare(before)}.
        After:
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
          It did not come to its end
        </Badge>
      </div>
      <pre>{text}</pre>
    </>
  );
}
