import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Card } from "./Card";
import { Diff } from "./Diff";
import { diffTexts } from "./diff";
import { Facts } from "./Facts";
import { mathParts } from "../markdown/mathParts";
import { MathText } from "../markdown/MathText";
import { StatusBadge } from "./StatusBadge";

test("a diff marks added and removed words", () => {
  expect(diffTexts("She has 4 apples.", "She has 5 apples.")).toEqual([
    { kind: "same", text: "She has " },
    { kind: "removed", text: "4" },
    { kind: "added", text: "5" },
    { kind: "same", text: " apples." },
  ]);
});

test("very long texts are compared by lines", () => {
  const text = "a b c d\n".repeat(1_000);
  expect(diffTexts(text, `${text}e\n`)).toEqual([
    { kind: "same", text },
    { kind: "added", text: "e\n" },
  ]);
});

test("a diff uses del and ins elements", () => {
  const { container } = render(<Diff before="one two" after="one three" />);
  expect(container.querySelector("del")?.textContent).toBe("two");
  expect(container.querySelector("ins")?.textContent).toBe("three");
});

test("formulas are found and prices are not formulas", () => {
  expect(mathParts("So $x = 2$ and \\(y\\).\n$$z$$\\[w\\]")).toEqual([
    { kind: "text", text: "So " },
    { kind: "inline", text: "x = 2" },
    { kind: "text", text: " and " },
    { kind: "inline", text: "y" },
    { kind: "text", text: ".\n" },
    { kind: "block", text: "z" },
    { kind: "block", text: "w" },
  ]);
  const price = "It costs $5 and then $7 more.";
  expect(mathParts(price)).toEqual([{ kind: "text", text: price }]);
});

test("a formula is rendered with MathML", async () => {
  const { container } = render(<MathText text="So $x^2$." />);
  expect(await screen.findByText("x", { selector: "mi" })).toBeTruthy();
  expect(container.textContent).toContain("So ");
});

test("a held run is shown as paused", () => {
  const { rerender } = render(<StatusBadge status="queued" isHeld />);
  expect(screen.getByText("paused")).toBeTruthy();
  rerender(<StatusBadge status="running" isHeld />);
  expect(screen.getByText("running")).toBeTruthy();
});

test("a card has a heading; unknown facts are dashes", () => {
  render(
    <Card title="Recipe">
      <Facts facts={{ Model: "tiny", Device: null }} />
    </Card>,
  );
  expect(screen.getByRole("region", { name: "Recipe" })).toBeTruthy();
  expect(screen.getAllByRole("definition").map((value) => value.textContent)).toEqual(["tiny", "–"]);
});
