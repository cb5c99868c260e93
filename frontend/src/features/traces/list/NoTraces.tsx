import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { Button } from "../../../ui/forms/Button";

interface NoTracesProps {
  isFiltered: boolean;
  onImport: () => void;
}

export function NoTraces({ isFiltered, onImport }: NoTracesProps): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No traces match these filters">
        <p>Clear the filters or broaden the search. Traces that have not been linted have no score and no findings.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No traces yet" actions={<Button onClick={onImport}>Import a file</Button>}>
      <p>
        A trace is one worked solution: a prompt, the steps that solve it, and the answer. Models are trained on traces.
        Import your own (JSONL, CSV or Parquet; chat messages, GSM8K and other formats are supported), or start with a
        bundled dataset:
      </p>
      <Command>tunix-rt data ingest dev-reasoning-v2</Command>
    </Empty>
  );
}
