import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";

/** Builds a dataset with live counts, across a reload. */
export async function buildDataset({ page }: Visit): Promise<void> {
  await page.goto("/datasets");
  await expect(page.getByRole("heading", { name: "No datasets yet" })).toBeVisible();
  await page.getByRole("link", { name: "Build a dataset" }).click();
  await page.getByLabel("Labels").fill("category=plain");
  await expect(page.getByText("16 rows", { exact: true })).toBeVisible();
  await page.getByRole("textbox", { name: "Name" }).fill("marbles");
  await page.reload();
  await expect(page.getByText("16 rows", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Build dataset" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "marbles-v1" })).toBeVisible();
  await expect(page.getByRole("figure", { name: "Rows by length in characters" })).toBeVisible();
}

/** Checks that tokens are shown as trained or masked, also when packed. */
export async function xrayDataset({ page }: Visit): Promise<void> {
  await page.goto("/datasets/marbles-v1");
  await page.getByRole("link", { name: "X-ray", exact: true }).click();
  await expect(page.getByText("ready for training")).toBeVisible();
  await page.getByLabel("Tokens per row").fill("256");
  await page.getByLabel("Packed: several examples per row").check();
  await page.reload();
  await expect(page.getByRole("region", { name: /^Example \d+$/ }).nth(1)).toBeVisible();
  await expectAccessible(page);
}

/** Compares the second version with the first. */
export async function compareVersions({ page, app, request }: Visit): Promise<void> {
  const second = { dataset_name: "marbles", dataset_version: "v2", splits: { train: 1 } };
  const built = await request.post(`${app.url}/api/datasets/build`, { data: second });
  expect(built.ok(), await built.text()).toBe(true);
  await page.goto("/datasets/marbles-v1/diff?other=marbles-v2");
  await expect(page.getByRole("heading", { name: "Rows added" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Rows added" })).toBeVisible();
}
