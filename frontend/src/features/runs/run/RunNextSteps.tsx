import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { EvaluateDialog } from "../../evaluation/shared/EvaluateDialog";
import { TaskList } from "../shared/TaskList";
import { Card } from "../../../ui/display/Card";
import styles from "./run.module.css";

interface RunNextStepsProps {
  runId: string;
  canWrite: boolean;
}

/** The next steps for a trained model: evaluate, chat, register, pack evidence, compare. */
export function RunNextSteps({ runId, canWrite }: RunNextStepsProps): ReactElement {
  const [isEvaluating, setOpenDialog] = useState(false);
  return (
    <Card title="Next steps">
      <ul className={styles.next}>
        {canWrite ? (
          <li>
            <Button
              onClick={() => {
                setOpenDialog(true);
              }}
            >
              Evaluate
            </Button>
            <span>accuracy with a confidence interval</span>
          </li>
        ) : null}
        <NextLinks runId={runId} canWrite={canWrite} />
      </ul>
      <TaskList query={{ model: runId, kind: "evaluation", limit: 5 }} canWrite={canWrite} />
      <p>
        <Link to="/evaluations" search={{ model: runId }}>
          All evaluations of this run
        </Link>
      </p>
      <EvaluateDialog
        model={runId}
        isOpen={isEvaluating}
        onClose={() => {
          setOpenDialog(false);
        }}
      />
    </Card>
  );
}

function NextLinks({ runId, canWrite }: RunNextStepsProps): ReactElement {
  return (
    <>
      <li>
        <Link to="/chat" search={{ model: runId }} className={buttonClass()}>
          Chat
        </Link>
        <span>with its reasoning shown separately</span>
      </li>
      {canWrite ? (
        <>
          <li>
            <Link to="/models" search={{ registering: true, run: runId }} className={buttonClass()}>
              Register model
            </Link>
            <span>store the weights as a named version</span>
          </li>
          <li>
            <Link to="/evidence" search={{ packing: true, run: runId }} className={buttonClass()}>
              Pack evidence
            </Link>
            <span>one bundle that backs up every number</span>
          </li>
        </>
      ) : null}
      <li>
        <Link to="/compare" search={{ run: [runId] }} className={buttonClass()}>
          Compare
        </Link>
        <span>curves, settings and scores with other runs</span>
      </li>
    </>
  );
}
