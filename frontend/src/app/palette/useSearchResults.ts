import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { listDatasets } from "../../features/datasets/queries";
import { listModels } from "../../features/models/queries";
import { listRuns } from "../../features/runs/queries";
import { listTraces } from "../../features/traces/queries";
import { shortRunName } from "../../ui/display/format";
import type { Action } from "../../ui/navigation/actions";
import { fuzzyFilter } from "../../ui/navigation/fuzzy";
import { useDebounced } from "../../ui/hooks/useDebounced";

const MIN_CHARS = 2;
const NUM_EACH = 4;
const MAX_MODELS = 100;

/** The runs, datasets, models and traces of this home that match the text, as actions that open them. */
export function useSearchResults(typed: string): Action[] {
  const navigate = useNavigate();
  const text = useDebounced(typed.trim());
  const { data } = useQuery({
    queryKey: ["results", text],
    queryFn: () => searchHome(text),
    enabled: text.length >= MIN_CHARS,
    retry: false,
  });
  if (data === undefined || typed.trim().length < MIN_CHARS) return [];
  return [
    ...data.runs.map(({ run_id: runId }) => ({
      label: shortRunName(runId),
      hint: "run",
      run: () => void navigate({ to: "/runs/$runId", params: { runId } }),
    })),
    ...data.datasets.map(({ dataset_key: datasetKey }) => ({
      label: datasetKey,
      hint: "dataset",
      run: () => void navigate({ to: "/datasets/$datasetKey", params: { datasetKey } }),
    })),
    ...data.models.map(({ label: model }) => ({
      label: model,
      hint: "model",
      run: () => void navigate({ to: "/models/$model", params: { model } }),
    })),
    ...data.traces.map(({ id: traceId, prompt_start }) => ({
      label: prompt_start,
      hint: "trace",
      run: () => void navigate({ to: "/traces/$traceId", params: { traceId } }),
    })),
  ];
}

async function searchHome(text: string) {
  const [runs, datasets, models, traces] = await Promise.all([
    listRuns({ text, limit: NUM_EACH }),
    listDatasets({ text, limit: NUM_EACH }),
    listModels({ limit: MAX_MODELS }),
    listTraces({ query: text, limit: NUM_EACH }),
  ]);
  const names = models.data.map(({ name }) => ({ label: name }));
  return {
    runs: runs.data,
    datasets: datasets.data,
    models: fuzzyFilter(text, names).slice(0, NUM_EACH),
    traces: traces.data,
  };
}
