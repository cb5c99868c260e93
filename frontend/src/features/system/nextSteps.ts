import type { Inventory } from "./queries";

/** One suggested step. */
export interface Step {
  title: string;
  why: string;
  to: "/traces" | "/datasets/new" | "/launch" | "/evaluations" | "/models" | "/chat";
  label: string;
  command: string;
}

const STEPS: readonly (Step & { isDone: (inventory: Inventory) => boolean })[] = [
  {
    isDone: ({ numTraces }) => numTraces > 0,
    title: "Import traces",
    why: "A trace is one worked solution: a prompt, the steps that solve it, and the final answer.",
    to: "/traces",
    label: "Go to traces",
    command: "tunix-rt traces import solutions.jsonl",
  },
  {
    isDone: ({ numDatasets }) => numDatasets > 0,
    title: "Build a dataset",
    why: "It is checked for wrong steps, duplicates and eval set questions, and is immutable.",
    to: "/datasets/new",
    label: "Build a dataset",
    command: "tunix-rt data build --name mine",
  },
  {
    isDone: ({ numRuns }) => numRuns > 0,
    title: "Plan and launch a run",
    why: "The plan shows whether it fits and how long it takes, before anything is downloaded.",
    to: "/launch",
    label: "Plan a run",
    command: "tunix-rt runs submit smoke_tiny",
  },
  {
    isDone: ({ numEvaluations }) => numEvaluations > 0,
    title: "Evaluate the model",
    why: "An evaluation stores every completion, its extracted answer, and a score with its interval.",
    to: "/evaluations",
    label: "Go to evaluations",
    command: "tunix-rt eval RUN --eval-set eval_v2",
  },
  {
    isDone: ({ numModels }) => numModels > 0,
    title: "Register the model",
    why: "Registered weights have a name, hashes, a model card and their full lineage.",
    to: "/models",
    label: "Go to models",
    command: "tunix-rt models register mine --run RUN --alias champion",
  },
];

const LAST: Step = {
  title: "Chat with the model",
  why: "All steps are done. See how the model reasons.",
  to: "/chat",
  label: "Open chat",
  command: "tunix-rt chat MODEL",
};

/** The first step of the workflow that is not done. */
export function nextStep(inventory: Inventory): Step {
  const step = STEPS.find(({ isDone }) => !isDone(inventory)) ?? LAST;
  const { newestRun = "RUN", firstModel = "MODEL" } = inventory;
  return { ...step, command: step.command.replace("RUN", newestRun).replace("MODEL", firstModel) };
}
