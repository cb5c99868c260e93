import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Card } from "./Card";
import { Diff } from "./Diff";
import { diffTexts } from "./diff";
import { Facts } from "./Facts";
import { mathParts } from "../markdown/mathParts";
import { MathText } from "../markdown/MathText";
import { StatusBadge } from "./StatusBadge";

test("a diff keeps what is common and marks what is not", () => {
  expect(diffTexts("She has 4 apples.", "She has 5 apples.")).toEqual([
    { kind: "same", text: "She has " },
    { kind: "removed", text: "4" },
    { kind: "added", text: "5" },
    { kind: "same", text: " apples." },
  ]);
});

test("texts that are too long for words are compared by lines", () => {
  const text = "a b c d\n".repeat(1_000);
  expect(diffTexts(text, `${text}e\n`)).toEqual([
    { kind: "same", text },
    { kind: "added", text: "e\n" },
  ]);
});

test("what was removed and added is marked for everybody", () => {
  const { container } = render(<Diff before="one two" after="one three" />);
  expect(container.querySelector("del")?.textContent).toBe("two");
  expect(container.querySelector("ins")?.textContent).toBe("three");
});

test("formulas are found between dollars and brackets, and prices are none", () => {
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

test("a formula is set, with MathML for who does not see it", async () => {
  const { container } = render(<MathText text="So $x^2$." />);
  expect(await screen.findByText("x", { selector: "mi" })).toBeTruthy();
  expect(container.textContent).toContain("So ");
});

test("a run that waits for somebody is said to be paused", () => {
  const { rerender } = render(<StatusBadge status="queued" isHeld />);
  expect(screen.getByText("paused")).toBeTruthy();
  rerender(<StatusBadge status="running" isHeld />);
  expect(screen.getByText("running")).toBeTruthy();
});

test("a card has a heading and facts have a dash for what is not known", () => {
  render(
    <Card title="Recipe">
      <Facts facts={{ Model: "tiny", Device: null }} />
    </Card>,
  );
  expect(screen.getByRole("region", { name: "Recipe" })).toBeTruthy();
  expect(screen.getAllByRole("definition").map((value) => value.textContent)).toEqual(["tiny", "–"]);
});
