import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Card } from "../../../ui/text/Card";
import styles from "./run.module.css";

/** What a trained model is for: measure it, talk to it, keep it. */
export function RunNext({ runId }: { runId: string }): ReactElement {
  return (
    <Card title="What next">
      <ul className={styles.next}>
        <li>
          <p>
            Measure it, then look at it among the <Link to="/evaluations">evaluations</Link>:
          </p>
          <Command>{`tunix-rt eval ${runId} --eval-set eval_v2`}</Command>
        </li>
        <li>
          <p>
            Talk to it here or in the <Link to="/chat">chat</Link>:
          </p>
          <Command>{`tunix-rt chat ${runId}`}</Command>
        </li>
        <li>
          <p>
            Keep it under a name, as a version among the <Link to="/models">models</Link>:
          </p>
          <Command>{`tunix-rt models register my-model --run ${runId}`}</Command>
        </li>
      </ul>
    </Card>
  );
}
