import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { BestRecipe, TuningJobDetail } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { copyText } from "../../../ui/copy/CopyAs";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { bestQuery, promoteBest } from "../queries";
import styles from "../sweeps.module.css";
import { formatMetric, formatParam, metricName } from "../format";
import { bestTrial } from "./axes";

interface BestPanelProps {
  job: TuningJobDetail;
  canWrite: boolean;
}

/** The recipe of the best trial, with actions to train or register it. */
export function BestPanel({ job, canWrite }: BestPanelProps): ReactElement {
  const best = bestTrial(job);
  if (best === undefined) return <p role="status">No trial has succeeded yet, so there is no best recipe.</p>;
  return <FetchedBest job={job} bestRun={best.run_id} canWrite={canWrite} />;
}

function FetchedBest({ job, bestRun, canWrite }: BestPanelProps & { bestRun: string }): ReactElement {
  const found = useQuery(bestQuery(job.id, bestRun));
  if (found.isPending) return <Loading what="Loading best recipe…" />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />;
  return (
    <>
      <BestRecipeCard job={job} best={found.data} />
      {canWrite ? <PromoteForm jobId={job.id} /> : null}
    </>
  );
}

function BestRecipeCard({ job, best }: { job: TuningJobDetail; best: BestRecipe }): ReactElement {
  const params = Object.entries(best.params).map(([key, value]) => [key, formatParam(value)] as const);
  return (
    <Card title="Best recipe">
      <Facts
        facts={{
          [metricName(job.metric_name)]: formatMetric(job.metric_name, best.value),
          Run: (
            <Link to="/runs/$runId" params={{ runId: best.run_id }}>
              {best.run_id}
            </Link>
          ),
          ...Object.fromEntries(params),
        }}
      />
      <div className={styles.row}>
        <Link to="/launch" search={{ from: best.run_id }} className={buttonClass("primary")}>
          Train with this recipe
        </Link>
        <Button onClick={() => void copyText(best.recipe_yaml, "the recipe")}>Copy as YAML</Button>
      </div>
      <p>Save it as a named recipe:</p>
      <Command>{`tunix-rt tune best ${job.id}`}</Command>
      {/* A scrollable region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={styles.recipe} tabIndex={0} aria-label="Best recipe as YAML">
        {best.recipe_yaml}
      </pre>
    </Card>
  );
}

/** Registers the model of the best trial. */
function PromoteForm({ jobId }: { jobId: string }): ReactElement {
  const queryClient = useQueryClient();
  const [model, setModel] = useState("");
  const [alias, setAlias] = useState("");
  const promote = useMutation({
    mutationFn: () => promoteBest(jobId, { model: model.trim(), ...(alias.trim() !== "" && { alias: alias.trim() }) }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["models"] }),
  });
  return (
    <Card title="Register model">
      <form
        className={styles.row}
        onSubmit={(event) => {
          event.preventDefault();
          promote.mutate();
        }}
      >
        <TextField
          label="Model name"
          autoComplete="off"
          value={model}
          onChange={setModel}
          error={promote.isError ? promote.error.message : null}
        />
        <TextField label="Alias" placeholder="champion" autoComplete="off" value={alias} onChange={setAlias} />
        <Button type="submit" isBusy={promote.isPending} disabled={model.trim() === ""}>
          Register
        </Button>
      </form>
      {promote.isSuccess ? (
        <p role="status">
          Registered:{" "}
          <Link to="/models/versions/$versionId" params={{ versionId: promote.data.id }}>
            {promote.data.model}, version {promote.data.version}
          </Link>
        </p>
      ) : null}
    </Card>
  );
}
