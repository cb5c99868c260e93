import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Bars } from "./Bars";
import { Curve } from "./Curve";
import { Interval } from "./Interval";
import { Sparkline } from "./Sparkline";
import { StackedBar } from "./StackedBar";

test("a curve can be shown as a table", async () => {
  const series = [{ name: "train", xs: [1, 2, 3], ys: [2.5, null, 1.5] }];
  render(<Curve title="Loss" series={series} xLabel="Step" yLabel="Loss" />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Show as table" }));
  const table = await screen.findByRole("grid", { name: "Loss, as a table" });
  expect(
    within(table)
      .getAllByRole("gridcell")
      .map((cell) => cell.textContent),
  ).toEqual(["1", "2.5", "2", "–", "3", "1.5"]);
});

test("a curve without points shows an empty state", () => {
  render(<Curve title="Loss" series={[]} xLabel="Step" yLabel="Loss" />);
  expect(screen.getByText("Nothing logged yet.")).toBeTruthy();
});

test("a sparkline describes its range; an empty one is hidden", () => {
  const { container, rerender } = render(<Sparkline label="Loss" values={[3, 1, 2]} />);
  expect(screen.getByRole("img", { name: "Loss: from 3 to 2" })).toBeTruthy();
  rerender(<Sparkline label="Loss" values={[]} />);
  expect(container.querySelector("svg")).toBeNull();
});

test("an interval shows the value, CI and n", () => {
  const { container } = render(<Interval value={0.974} low={0.964} high={0.981} n={2_000} />);
  expect(container.textContent).toBe("97.4 %95 % CI 96.4 % to 98.1 %, n = 2,000");
});

test("a stacked bar names its parts and its limit", () => {
  const parts = [
    { name: "weights", value: 5 },
    { name: "optimizer", value: 11 },
  ];
  const props = { label: "Memory", parts, format: (value: number) => `${value} GiB` };
  const { rerender } = render(<StackedBar {...props} limit={{ name: "the device's", value: 15 }} />);
  expect(screen.getByRole("img", { name: "Memory: 16 GiB, over the device's 15 GiB" })).toBeTruthy();
  expect(screen.getByText("weights 5 GiB")).toBeTruthy();
  rerender(<StackedBar {...props} limit={{ name: "the device's", value: 16 }} />);
  expect(screen.getByRole("img", { name: /within/ })).toBeTruthy();
  rerender(<StackedBar {...props} />);
  expect(screen.getByRole("img", { name: "Memory: 16 GiB" })).toBeTruthy();
});

test("bars show their values", () => {
  render(
    <Bars
      title="Steps"
      bars={[
        { label: "1–3", value: 1200 },
        { label: "4–6", value: 5 },
      ]}
    />,
  );
  const figure = screen.getByRole("figure", { name: "Steps" });
  expect(within(figure).getByText("1,200")).toBeTruthy();
});
