import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";
import { sumTrace } from "../src/testing/traces";

test("a dataset is built with live counts, looked at, X-rayed and compared with its next version", async ({
  page,
  app,
  request,
}) => {
  const traces = Array.from({ length: 24 }, (_, left) => ({
    ...sumTrace(left + 1, 100, "marbles"),
    meta: { source: "marbles", category: left % 3 === 0 ? "carrying" : "plain" },
  }));
  await request.post(`${app.url}/api/traces/batch`, { data: traces });

  await page.goto("/datasets");
  await expect(page.getByRole("heading", { name: "No datasets yet" })).toBeVisible();
  await takeScreenshots(page, "datasets-empty");
  await page.getByRole("link", { name: "Build a dataset" }).click();
  await expect(page.getByText("24 rows", { exact: true })).toBeVisible();
  await page.getByLabel("Labels").fill("category=plain");
  await expect(page.getByText("16 rows", { exact: true })).toBeVisible();
  await page.getByRole("textbox", { name: "Name" }).fill("marbles");
  await page.reload();
  await expect(page.getByText("16 rows", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "datasets-build");
  await page.getByRole("button", { name: "Build the dataset" }).click();

  await expect(page.getByRole("heading", { level: 1, name: "marbles-v1" })).toBeVisible();
  await expect(page.getByRole("figure", { name: "Rows by length in characters" })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "datasets-detail");
  await page.getByRole("tab", { name: "Origin" }).click();
  await expect(page.getByText("none yet")).toBeVisible();
  await takeScreenshots(page, "datasets-origin");

  await page.getByRole("link", { name: "X-ray", exact: true }).click();
  await expect(page.getByText("may be trained on")).toBeVisible();
  await page.getByLabel("Tokens in a row").fill("256");
  await page.getByLabel("Packed: several examples in a row").check();
  await expect(page.getByRole("region", { name: /^Example \d+$/ }).nth(1)).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "datasets-xray");

  const second = { dataset_name: "marbles", dataset_version: "v2", splits: { train: 1 } };
  await request.post(`${app.url}/api/datasets/build`, { data: second });
  await page.goto("/datasets/marbles-v1/diff?other=marbles-v2");
  await expect(page.getByRole("heading", { name: "Rows added" })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "datasets-diff");
  await page.goto("/datasets");
  await expect(page.getByRole("row", { name: /marbles-v2/ })).toBeVisible();
  await takeScreenshots(page, "datasets-list");
});
