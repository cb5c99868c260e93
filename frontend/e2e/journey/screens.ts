import type { APIRequestContext, Page } from "@playwright/test";
import type { RegisteredRouter } from "@tanstack/react-router";
import type {
  EvaluationList,
  EvidenceList,
  ModelDetail,
  RunList,
  TraceList,
  TuningJobList,
} from "../../src/api/schema.gen";
import { expect, type Visit } from "../support/app";
import { expectAccessibleInBothThemes } from "../support/axe";
import { takeScreenshots } from "../support/screenshots";

type Screen = keyof RegisteredRouter["routesByPath"];

const NARROW = { width: 320, height: 700 };
const WIDE = { width: 1280, height: 800 };
/** The browser logs every error response, which the app reports in the UI. */
const EXPECTED = "Failed to load resource";

/** Opens every screen with the journey's data and checks accessibility, themes and phone width. */
export async function visitEveryScreen({ page, app, request }: Visit): Promise<void> {
  const problems = problemsOf(page);
  const addresses = await everyAddress(request, app.url);
  for (const [screen, address] of Object.entries(addresses)) {
    await page.goto(address);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.getByText(/^(Loading|Reading|Opening|Counting|Looking)\b.*…$/)).toHaveCount(0);
    await expectAccessibleInBothThemes(page);
    await page.setViewportSize(NARROW);
    await expect.poll(() => pageWidth(page), { message: `${address} on a phone` }).toBeLessThanOrEqual(NARROW.width);
    await page.setViewportSize(WIDE);
    await takeScreenshots(page, screen.slice(1).replaceAll("/", "-").replaceAll("$", "") || "home");
  }
  expect(problems).toEqual([]);
}

/** A URL with data for every route. A missing route is a type error. */
async function everyAddress(request: APIRequestContext, url: string): Promise<Record<Screen, string>> {
  const read = async <Body>(path: string): Promise<Body> => (await request.get(url + path)).json() as Promise<Body>;
  const [trace, original] = (await read<TraceList>("/api/traces?limit=2")).data.map(({ id }) => id);
  const [run, otherRun] = (await read<RunList>("/api/tunix/runs")).data.map(({ run_id }) => run_id);
  const [better, worse] = (await read<EvaluationList>("/api/evaluations?order=best")).data.map(
    ({ evaluation_id }) => evaluation_id,
  );
  const job = (await read<TuningJobList>("/api/tuning/jobs")).data[0]?.id;
  const version = (await read<ModelDetail>("/api/models/tiny")).versions[0]?.id;
  const bundle = (await read<EvidenceList>("/api/evidence")).data[0]?.evidence_id;
  return {
    "/": "/",
    "/traces": "/traces",
    "/traces/compare": `/traces/compare?base=${original}&other=${trace}`,
    "/traces/$traceId": `/traces/${trace}`,
    "/traces/$traceId/workbench": `/traces/${trace}/workbench`,
    "/datasets": "/datasets",
    "/datasets/new": "/datasets/new",
    "/datasets/$datasetKey": "/datasets/marbles-v1",
    "/datasets/$datasetKey/diff": "/datasets/marbles-v1/diff?other=marbles-v2",
    "/datasets/$datasetKey/xray": "/datasets/marbles-v1/xray",
    "/launch": "/launch",
    "/runs": "/runs",
    "/runs/$runId": `/runs/${run}`,
    "/compare": `/compare?run=${encodeURIComponent(JSON.stringify([run, otherRun]))}`,
    "/evaluations": "/evaluations",
    "/evaluations/compare": `/evaluations/compare?base=${better}&other=${worse}`,
    "/evaluations/$evaluationId": `/evaluations/${better}`,
    "/evaluations/$evaluationId/items/$itemId": `/evaluations/${better}/items/sum-10`,
    "/evaluations/faithfulness": "/evaluations/faithfulness",
    // A report needs many generations, so this URL shows the error state.
    "/evaluations/faithfulness/$reportId": "/evaluations/faithfulness/none",
    "/leaderboard": "/leaderboard",
    "/gates": "/gates",
    "/gates/$name": "/gates/main",
    "/tuning": "/tuning",
    "/tuning/new": "/tuning/new",
    "/tuning/$jobId": `/tuning/${job}`,
    "/models": "/models",
    "/models/$model": "/models/tiny",
    "/models/versions/$versionId": `/models/versions/${version}`,
    "/chat": "/chat",
    "/evidence": "/evidence",
    "/evidence/$runId": `/evidence/${bundle}`,
  };
}

function problemsOf(page: Page): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes(EXPECTED)) problems.push(message.text());
  });
  return problems;
}

function pageWidth(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
