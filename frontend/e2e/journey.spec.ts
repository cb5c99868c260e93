import { compareRuns, sweepAndCancel } from "./journey/comparing";
import { buildDataset, compareVersions, xrayDataset } from "./journey/datasets";
import { failTheGate, evaluateRun, scoreTwoModels, compareModels } from "./journey/evaluations";
import { chatAndVote, packAndVerify, registerModel } from "./journey/models";
import { visitEveryScreen } from "./journey/screens";
import { navigateByKeyboard, checkFirstLoad } from "./journey/shell";
import { importAndLint, reviewByKeyboard } from "./journey/traces";
import { launchAndCancel, planAndFix, resumeAndWatch, checkRunSucceeded } from "./journey/training";
import { test } from "./support/app";

// From traces to evidence on one server with one training run. Each test continues from the one before.
test.describe.configure({ mode: "serial" });

let runId = "";

test.beforeAll(({ app }) => scoreTwoModels(app));

test("the first load is at most 300 kB of gzipped JavaScript", checkFirstLoad);
test("the palette opens a screen and a reload stays there", navigateByKeyboard);
test("traces are imported, linted and filtered", importAndLint);
test("a step is repaired by keyboard as a new version", reviewByKeyboard);
test("a dataset is built with live counts", buildDataset);
test("an X-ray shows which tokens are trained", xrayDataset);
test("two dataset versions are compared", compareVersions);
test("a plan that does not fit is fixed with one click", planAndFix);
test("a run is started, watched and cancelled", async ({ page, app, request }) => {
  runId = await launchAndCancel({ page, app, request });
});
test("a cancelled run is resumed and its curve updates", ({ page, app, request }) =>
  resumeAndWatch({ page, app, request }, runId));
// While it trains:
test("a worse model is compared item by item", compareModels);
test("a worse model fails the gate and ranks lower", failTheGate);
test("a sweep is validated, started and cancelled", sweepAndCancel);
test("the run succeeds and shows next steps", ({ page, app, request }) =>
  checkRunSucceeded({ page, app, request }, runId));
test("the trained model is evaluated item by item", ({ page, app, request }) =>
  evaluateRun({ page, app, request }, runId));
test("two runs are compared by their differences", compareRuns);
test("the trained model is registered and promoted", ({ page, app, request }) =>
  registerModel({ page, app, request }, runId));
test("the model answers and a blind vote is stored", chatAndVote);
test("the run's evidence is packed and verified", ({ page, app, request }) =>
  packAndVerify({ page, app, request }, runId));
test("every screen is accessible and fits a phone", visitEveryScreen);
