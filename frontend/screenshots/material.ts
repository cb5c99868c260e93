/** Records added to a home besides the demo, so that no screen is empty. */

export const DATASET = "demo-arithmetic-v2";
const NUM_TRACES = 60;
const EVERY_THIRD = 3;
export const SOURCE = "sales-notes";

/** Sales of a shop. Every third trace has a wrong sum. */
export const SHOP_TRACES = Array.from({ length: NUM_TRACES }, (_, index) => {
  const [monday, tuesday] = [23 + index * 3, 48 + index];
  const sold = monday + tuesday + (index % EVERY_THIRD === 0 ? 10 : 0);
  const steps = [
    { type: "decompose", content: `On Monday the shop sold ${monday} apples, on Tuesday ${tuesday}.` },
    { type: "compute", content: `Together: $${monday} + ${tuesday} = ${sold}$.` },
    { type: "verify", content: `So the shop sold ${sold} apples.` },
  ];
  return {
    trace_version: "1.0",
    prompt: `A shop sold ${monday} apples on Monday and ${tuesday} on Tuesday. How many apples did it sell?`,
    steps: steps.map((step, i) => ({ i, ...step })),
    final_answer: String(sold),
    meta: { source: SOURCE, category: "word problems", difficulty: "easy" },
  };
});

const SHORT = ["training.num_steps=60", "training.warmup_steps=5"];

/** Two runs that differ in their learning rate. */
export const RUNS = [
  { recipe: "demo", name: "slow", overrides: [...SHORT, "training.learning_rate=0.001"] },
  { recipe: "demo", name: "quick", overrides: [...SHORT, "training.learning_rate=0.004"] },
];

export const SWEEP = {
  name: "learning-rate",
  recipe: "demo",
  overrides: ["training.num_steps=40", "training.warmup_steps=4", "eval.every_steps=20"],
  search_space: {
    "training.learning_rate": { type: "loguniform", min: 0.0003, max: 0.03 },
    "training.optimizer.weight_decay": { type: "choice", values: [0, 0.01, 0.1] },
  },
  metric_name: "validation_loss",
  num_samples: 5,
};
