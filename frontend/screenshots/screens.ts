import type { Subjects } from "./home";
import { DATASET } from "./material";

/** Every screen shown in docs/web.md: screenshot name and URL. */
export function screens(subjects: Subjects): Record<string, string> {
  const { trace, otherTrace, run, runs, sweep, before, after, item, version, report } = subjects;
  const tooLarge = asSearch(["training.batch_size=16", "training.remat=none"]);
  return {
    home: "/",
    traces: "/traces?order=worst",
    trace: `/traces/${trace}`,
    "trace-compare": `/traces/compare?base=${trace}&other=${otherTrace}`,
    workbench: `/traces/${trace}/workbench`,
    datasets: "/datasets",
    "dataset-build": "/datasets/new?without_codes=arithmetic-wrong",
    dataset: `/datasets/${DATASET}`,
    "dataset-diff": "/datasets/sales-v1/diff?other=sales-v2",
    xray: `/datasets/${DATASET}/xray?packed=true&row_length=256`,
    launch: `/launch?recipe=lora_gemma_2b&target=t4&hours=9&set=${tooLarge}`,
    runs: "/runs",
    run: `/runs/${run}`,
    compare: `/compare?run=${asSearch([run, ...runs])}`,
    sweeps: "/tuning",
    "sweep-new": "/tuning/new",
    tuning: `/tuning/${sweep}`,
    evaluations: "/evaluations",
    evaluation: `/evaluations/${after}`,
    item: `/evaluations/${after}/items/${item}`,
    flips: `/evaluations/compare?base=${before}&other=${after}`,
    leaderboard: "/leaderboard",
    faithfulness: "/evaluations/faithfulness",
    "faithfulness-report": `/evaluations/faithfulness/${report}`,
    gates: "/gates",
    gate: "/gates/champion",
    models: "/models",
    model: "/models/sums",
    version: `/models/versions/${version}`,
    "evidence-list": "/evidence",
    evidence: `/evidence/${run}`,
  };
}

function asSearch(texts: string[]): string {
  return encodeURIComponent(JSON.stringify(texts));
}
