import { expect, test } from "vitest";
import { changesOf, planRequest, runRequest, shorterTraining, submitCommand, withSettings } from "./request";

test("a run request contains only the chosen options", () => {
  expect(runRequest({}, "cpu")).toEqual({ recipe: "smoke_tiny", target: "local" });
  expect(
    runRequest({ recipe: "lora", target: "v5e-8", dataset: "gsm8k-v1", set: ["a=1"], steps: 3, force: true }, "tpu"),
  ).toEqual({
    recipe: "lora",
    target: "v5e-8",
    device: "tpu",
    dataset: "gsm8k-v1",
    overrides: ["a=1"],
    num_smoke_steps: 3,
    is_forced: true,
  });
});

test("a plan request omits options that do not affect it", () => {
  const request = runRequest({ name: "mine", force: true }, "cpu");
  expect(planRequest(request, 9)).toEqual({ recipe: "smoke_tiny", target: "local", session_seconds: 32_400 });
  expect(planRequest(request, undefined)).toEqual({ recipe: "smoke_tiny", target: "local" });
});

test("the run as a command", () => {
  const request = runRequest({ set: ["lora.targets=[q, v]"], dataset: "demo-v1", evalset: "eval_v2" }, "cpu");
  expect(submitCommand(request, undefined)).toBe(
    "tunix-rt runs submit smoke_tiny --dataset demo-v1 --target local --eval-set eval_v2 --set 'lora.targets=[q, v]'",
  );
});

test("the command fetches the recipe of a source run", () => {
  const request = runRequest({ force: true }, "cpu", { model: { name: "tiny" } });
  expect(submitCommand(request, "run-1", "http://here")).toBe(
    "curl -so run-1.json http://here/api/tunix/runs/run-1/artifacts/recipe.resolved.json/download\n" +
      "tunix-rt runs submit run-1.json --target local --force",
  );
});

test("fixes become settings without duplicate keys", () => {
  const fix = changesOf("--set training.remat=block --set lora.targets=[q, v]");
  expect(fix).toEqual(["training.remat=block", "lora.targets=[q, v]"]);
  expect(withSettings(["training.remat=none", "a=1"], fix)).toEqual([
    "training.remat=block",
    "a=1",
    "lora.targets=[q, v]",
  ]);
});

test("shorter training leaves 10 % of the session free", () => {
  expect(shorterTraining(2, 100, false)).toEqual(["training.num_steps=45"]);
  expect(shorterTraining(1_000, 100, true)).toEqual(["training.num_steps=1", "training.num_epochs=null"]);
});
