import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Evaluation } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatDuration, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { shortId } from "../shared/format";
import styles from "../evaluations.module.css";

/** The model, the decoding and extraction settings, and the generation details. */
export function ProtocolTab({ evaluation }: { evaluation: Evaluation }): ReactElement {
  return (
    <>
      <Model evaluation={evaluation} />
      <Protocol evaluation={evaluation} />
      <Generation evaluation={evaluation} />
    </>
  );
}

function Model({ evaluation: { model, rescored_from: source } }: { evaluation: Evaluation }): ReactElement {
  return (
    <Card title="Model">
      <Facts
        facts={{
          Name: model.name,
          Origin: model.origin,
          Weights: model.weights === "random" ? `random, seed ${model.seed ?? UNKNOWN}` : "pretrained or trained",
          "Weights SHA-256": hash(model.weights_hash),
          Run: model.run_id ? (
            <Link to="/runs/$runId" params={{ runId: model.run_id }}>
              {model.run_id}
            </Link>
          ) : null,
          "Base model": model.base_model,
          Dataset: model.dataset ? (
            <Link to="/datasets/$datasetKey" params={{ datasetKey: model.dataset }}>
              {model.dataset}
            </Link>
          ) : null,
          Recipe: model.recipe,
          "Rescored from": source ? (
            <Link to="/evaluations/$evaluationId" params={{ evaluationId: source }}>
              {shortId(source)}
            </Link>
          ) : null,
        }}
      />
    </Card>
  );
}

function Protocol({ evaluation: { protocol, fingerprint } }: { evaluation: Evaluation }): ReactElement {
  const { decoding, extraction } = protocol;
  const temperature = decoding?.temperature ?? 0;
  return (
    <Card title="Protocol">
      <p className={styles.muted}>Scores are comparable only with an identical protocol.</p>
      <Facts
        facts={{
          Fingerprint: hash(fingerprint),
          "Eval set SHA-256": hash(protocol.evalset_hash),
          "Template SHA-256": hash(protocol.template_hash),
          Markup: protocol.markup,
          Decoding: temperature === 0 ? "greedy" : `temperature ${temperature}, top-p ${decoding?.top_p ?? 1}`,
          "Samples per item": formatNumber(decoding?.num_samples ?? 1),
          "Max new tokens": formatNumber(decoding?.max_new_tokens),
          "Extraction rules": extraction.rules.join(", "),
          "Lenient rules": rulesText(extraction.lenient_rules),
          Versions: Object.entries(protocol.versions)
            .map((pair) => pair.join(" "))
            .join(", "),
        }}
      />
    </Card>
  );
}

function Generation({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { generation, created_at, tunix_rt_version, predictions_hash } = evaluation;
  return (
    <Card title="Generation">
      <Facts
        facts={{
          Evaluated: formatTime(created_at),
          "Tunix RT": tunix_rt_version,
          Engine: generation?.engine,
          Device: generation?.device,
          Precision: generation?.precision,
          Time: formatDuration(generation?.seconds),
          Speed: generation ? `${formatNumber(generation.tokens_per_s)} tokens/s` : UNKNOWN,
          "Predictions SHA-256": hash(predictions_hash),
        }}
      />
    </Card>
  );
}

function hash(value: string | null | undefined): ReactElement | null {
  return value ? <code title={value}>{shortId(value)}</code> : null;
}

function rulesText(rules: readonly string[] | undefined): string {
  return rules === undefined || rules.length === 0 ? "none" : rules.join(", ");
}
