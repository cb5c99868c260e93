import type { Inventory } from "./queries";

/** One act that brings a home further. */
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
    title: "Bring your traces",
    why: "A trace is one worked solution: a prompt, the steps that solve it, the final answer. Everything starts with them.",
    to: "/traces",
    label: "Go to the traces",
    command: "tunix-rt traces import solutions.jsonl",
  },
  {
    isDone: ({ numDatasets }) => numDatasets > 0,
    title: "Build a dataset",
    why: "It is checked for wrong steps, duplicates and questions of the tests, and never changes afterwards.",
    to: "/datasets/new",
    label: "Build a dataset",
    command: "tunix-rt data build --name mine",
  },
  {
    isDone: ({ numRuns }) => numRuns > 0,
    title: "Plan and start a run",
    why: "The plan says whether it fits and how long it takes, before anything is downloaded.",
    to: "/launch",
    label: "Plan a run",
    command: "tunix-rt runs submit smoke_tiny",
  },
  {
    isDone: ({ numEvaluations }) => numEvaluations > 0,
    title: "Measure what it has learned",
    why: "An evaluation keeps every text, the rule that found its answer, and a score with its interval.",
    to: "/evaluations",
    label: "Go to the evaluations",
    command: "tunix-rt eval RUN --eval-set eval_v2",
  },
  {
    isDone: ({ numModels }) => numModels > 0,
    title: "Register the model",
    why: "Registered weights are found by their name, hashed, and have a card and their whole history.",
    to: "/models",
    label: "Go to the models",
    command: "tunix-rt models register mine --run RUN --alias champion",
  },
];

const LAST: Step = {
  title: "Talk to it",
  why: "Everything has been done once. See how the model shows its work.",
  to: "/chat",
  label: "Open the chat",
  command: "tunix-rt chat MODEL",
};

/** The first act on the way from traces to a model that was not done yet. */
export function nextStep(inventory: Inventory): Step {
  const step = STEPS.find(({ isDone }) => !isDone(inventory)) ?? LAST;
  const { newestRun = "RUN", firstModel = "MODEL" } = inventory;
  return { ...step, command: step.command.replace("RUN", newestRun).replace("MODEL", firstModel) };
}
