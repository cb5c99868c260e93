import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TuningJobDetail } from "../../../api/schema.gen";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { buttonClass } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { searchOf } from "../create/sweepText";
import { formatParam } from "../format";

/** The spec of the sweep. */
export function SpecPanel({ job }: { job: TuningJobDetail }): ReactElement {
  const { spec } = job;
  return (
    <>
      <Card title="Search space">
        <PlainTable
          name="Search space"
          columns={[{ header: "Setting" }, { header: "Distribution" }, { header: "Values" }]}
          rows={Object.entries(spec.search_space).map(([key, parameter]) => ({
            key,
            cells: [
              <code key="key">{key}</code>,
              parameter.type,
              parameter.type === "choice"
                ? parameter.values.map(formatParam).join(", ")
                : `${formatParam(parameter.min)} to ${formatParam(parameter.max)}`,
            ],
          }))}
        />
      </Card>
      <Card title="Settings">
        <Facts
          facts={{
            Recipe: typeof spec.recipe === "string" ? spec.recipe : "inline",
            Overrides: spec.overrides?.length ? spec.overrides.join(", ") : "none",
            Sampler: spec.sampler ?? "tpe",
            Pruner: spec.pruner ?? "none",
            Seed: formatNumber(spec.seed ?? 0),
            Trials: formatNumber(job.num_samples),
            "Device-minutes": formatNumber(spec.budget?.device_minutes, 1),
            "Max concurrent": formatNumber(job.max_concurrent_trials),
            "Eval set": spec.eval_set ?? UNKNOWN,
            Created: formatTime(job.created_at),
          }}
        />
        <div>
          <Link to="/tuning/new" search={searchOf(spec, job.id)} className={buttonClass()}>
            New sweep like this
          </Link>
        </div>
      </Card>
    </>
  );
}
