import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

test("a run that is submitted appears in the list, and its filters survive a reload", async ({
  page,
  app,
  request,
}) => {
  await page.goto("/runs");
  await expect(page.getByRole("heading", { name: "No runs yet" })).toBeVisible();
  // Held: this test is about the list, and what it would train belongs to others.
  const submitted = await request.post(`${app.url}/api/tunix/runs`, { data: { recipe: "smoke_tiny", is_held: true } });
  expect(submitted.status(), await submitted.text()).toBe(201);
  const { run_id: runId } = (await submitted.json()) as { run_id: string };
  const row = page.getByRole("row", { name: new RegExp(runId) });
  await expect(row.getByText("paused")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "runs-list");
  await page.getByRole("checkbox", { name: "failed" }).check();
  await expect(page.getByRole("heading", { name: "No run fits these filters" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("checkbox", { name: "failed" })).toBeChecked();
  await page.getByRole("checkbox", { name: "queued" }).check();
  await row.focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/runs/${runId}$`));
});
