import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { doctorQuery, examineMachine } from "./queries";
import type { EngineReport, Examination } from "../../api/schema.gen";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { showError } from "../../ui/feedback/toasts";
import { Button } from "../../ui/forms/Button";
import { Badge } from "../../ui/display/Badge";
import { Card } from "../../ui/display/Card";
import { Facts } from "../../ui/display/Facts";
import { formatAgo, formatBytes } from "../../ui/display/format";
import styles from "./home.module.css";

/** The server's machine, as reported by `tunix-rt doctor`. */
export function MachineCard(): ReactElement {
  const queryClient = useQueryClient();
  const examination = useQuery(doctorQuery);
  const examining = useMutation({
    mutationFn: () => examineMachine(true),
    onSuccess: (found) => {
      queryClient.setQueryData(doctorQuery.queryKey, found);
    },
    onError: showError,
  });
  return (
    <Card title="This machine">
      {examination.isPending ? <Loading what="Detecting devices of each engine…" /> : null}
      {examination.isError ? (
        <ErrorNotice error={examination.error} onRetry={() => void examination.refetch()} />
      ) : null}
      {examination.data === undefined ? null : (
        <>
          <Machine examination={examination.data} />
          <div>
            <Button
              isBusy={examining.isPending}
              onClick={() => {
                examining.mutate();
              }}
            >
              Check again
            </Button>
          </div>
        </>
      )}
    </Card>
  );
}

function Machine({ examination: { diagnosis, examined_at } }: { examination: Examination }): ReactElement {
  return (
    <>
      <Facts
        facts={{
          Processors: diagnosis.num_cpus,
          "Free memory": formatBytes(diagnosis.available_memory_bytes),
          "Free disk": formatBytes(diagnosis.free_disk_bytes),
          Database: diagnosis.database?.kind,
          Home: diagnosis.home,
          Checked: formatAgo(examined_at),
        }}
      />
      <ul className={styles.engines} aria-label="Engines">
        {diagnosis.engines.map((engine) => (
          <Engine key={engine.name} engine={engine} />
        ))}
      </ul>
      {(diagnosis.problems ?? []).map(({ detail, next_step }) => (
        <p key={detail}>
          <Badge kind="bad" sign="✕">
            problem
          </Badge>{" "}
          {detail} {next_step}
        </p>
      ))}
    </>
  );
}

function Engine({ engine }: { engine: EngineReport }): ReactElement {
  const devices = (engine.devices ?? []).map(({ kind, num_devices, memory_bytes }) => {
    const memory = memory_bytes == null ? "" : `, ${formatBytes(memory_bytes)} each`;
    return `${num_devices} × ${kind}${memory}`;
  });
  return (
    <li>
      <Badge kind={engine.is_installed ? "good" : "neutral"} sign={engine.is_installed ? "✓" : "◌"}>
        {engine.name}
      </Badge>
      <span>{engine.is_installed ? devices.join("; ") || "no device found" : "not installed"}</span>
    </li>
  );
}
