import { compareRuns, sweepAndCancel } from "./journey/comparing";
import { buildDataset, compareVersions, xrayDataset } from "./journey/datasets";
import { beStoppedByTheGate, evaluateRun, scoreTwoModels, seeTheFlips } from "./journey/evaluations";
import { chatAndVote, packAndVerify, registerModel } from "./journey/models";
import { visitEveryScreen } from "./journey/screens";
import { goByKeyboard, loadLittle } from "./journey/shell";
import { importAndLint, repairFromTheKeyboard } from "./journey/traces";
import { launchAndCancel, planAndFix, resumeAndWatch, seeItSucceed } from "./journey/training";
import { test } from "./support/app";

// From traces to evidence on one server with one training: each part goes on from what the one before has made.
test.describe.configure({ mode: "serial" });

let runId = "";

test.beforeAll(({ app }) => scoreTwoModels(app));

test("the first load is at most 300 kB of gzipped JavaScript", loadLittle);
test("the palette leads to a screen, and a reload stays there", goByKeyboard);
test("traces are imported and linted, and the wrong one is found", importAndLint);
test("a step is repaired from the keyboard, and kept as a new version", repairFromTheKeyboard);
test("a dataset is built while its counts follow what is written", buildDataset);
test("an X-ray shows which tokens are trained", xrayDataset);
test("two versions of a dataset are held against each other", compareVersions);
test("what does not fit is made to fit with one click", planAndFix);
test("a run is started, watched and cancelled", async ({ page, app, request }) => {
  runId = await launchAndCancel({ page, app, request });
});
test("it goes on where it was, and its curve moves", ({ page, app, request }) =>
  resumeAndWatch({ page, app, request }, runId));
// While it trains:
test("a worse model is seen on the flip board, item by item", seeTheFlips);
test("a worse model is stopped by the gate, and below the better one on the leaderboard", beStoppedByTheGate);
test("a sweep is written, refused with the reason, started and cancelled", sweepAndCancel);
test("the run succeeds, and says what to do next", ({ page, app, request }) =>
  seeItSucceed({ page, app, request }, runId));
test("the trained model is evaluated, and judged item by item", ({ page, app, request }) =>
  evaluateRun({ page, app, request }, runId));
test("two runs are compared by what differs", compareRuns);
test("the trained model is registered and promoted", ({ page, app, request }) =>
  registerModel({ page, app, request }, runId));
test("the model answers, and a blind vote is kept", chatAndVote);
test("the run's evidence is packed, and holds", ({ page, app, request }) =>
  packAndVerify({ page, app, request }, runId));
test("every screen is accessible, light and dark, and fits a phone", visitEveryScreen);
