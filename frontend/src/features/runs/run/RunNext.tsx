import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { EvaluateDialog } from "../../evaluation/shared/EvaluateDialog";
import { TaskList } from "../shared/TaskList";
import { Card } from "../../../ui/display/Card";
import styles from "./run.module.css";

interface RunNextProps {
  runId: string;
  mayWrite: boolean;
}

/** What a trained model is for: measure it, talk to it, keep it, prove it, hold it against another. */
export function RunNext({ runId, mayWrite }: RunNextProps): ReactElement {
  const [isAsking, setAsking] = useState(false);
  return (
    <Card title="What next">
      <ul className={styles.next}>
        {mayWrite ? (
          <li>
            <Button
              onClick={() => {
                setAsking(true);
              }}
            >
              Evaluate it
            </Button>
            <span>how many answers are right, and how sure that is</span>
          </li>
        ) : null}
        <NextLinks runId={runId} mayWrite={mayWrite} />
      </ul>
      <TaskList query={{ model: runId, kind: "evaluation", limit: 5 }} mayWrite={mayWrite} />
      <p>
        <Link to="/evaluations" search={{ model: runId }}>
          Every evaluation of this run
        </Link>
      </p>
      <EvaluateDialog
        model={runId}
        isOpen={isAsking}
        onClose={() => {
          setAsking(false);
        }}
      />
    </Card>
  );
}

function NextLinks({ runId, mayWrite }: RunNextProps): ReactElement {
  return (
    <>
      <li>
        <Link to="/chat" search={{ model: runId }} className={buttonClass()}>
          Talk to it
        </Link>
        <span>its reasoning stands apart from its answer</span>
      </li>
      {mayWrite ? (
        <>
          <li>
            <Link to="/models" search={{ registering: true, run: runId }} className={buttonClass()}>
              Register its model
            </Link>
            <span>keep the weights under a name, as a version</span>
          </li>
          <li>
            <Link to="/evidence" search={{ packing: true, run: runId }} className={buttonClass()}>
              Pack its evidence
            </Link>
            <span>one bundle that proves every number</span>
          </li>
        </>
      ) : null}
      <li>
        <Link to="/compare" search={{ run: [runId] }} className={buttonClass()}>
          Compare it
        </Link>
        <span>curves, settings and scores beside other runs</span>
      </li>
    </>
  );
}
