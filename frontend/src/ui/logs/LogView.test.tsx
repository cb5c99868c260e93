import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { LogView } from "./LogView";

const LINES = Array.from({ length: 100_000 }, (_, index) =>
  index % 1_000 === 7 ? `error at ${index}` : `step ${index}`,
);

test("only the visible lines of a long log are rendered", () => {
  const { container } = render(<LogView name="Log of smoke-1" lines={LINES} />);
  expect(screen.getByRole("status").textContent).toBe("100,000 lines");
  expect(container.querySelectorAll("code").length).toBeLessThan(200);
  expect(screen.getByText("step 3")).toBeTruthy();
});

test("a search cycles through its matches", async () => {
  const user = userEvent.setup();
  render(<LogView name="Log" lines={["a", "Error one", "b", "error two"]} />);
  await user.type(screen.getByLabelText("Search the log"), "error");
  expect(screen.getByRole("status").textContent).toBe("1 of 2");
  await user.click(screen.getByRole("button", { name: "Next match" }));
  expect(screen.getByRole("status").textContent).toBe("2 of 2");
  await user.type(screen.getByLabelText("Search the log"), "{Enter}");
  expect(screen.getByRole("status").textContent).toBe("1 of 2");
  expect(screen.getAllByText(/error/i, { selector: "mark" }).length).toBe(2);
});

test("a search without matches says so", async () => {
  render(<LogView name="Log" lines={["a"]} />);
  await userEvent.type(screen.getByLabelText("Search the log"), "zzz");
  expect(screen.getByRole("status").textContent).toBe("no matches");
});

test("a live log is followed until a match is opened", async () => {
  const user = userEvent.setup();
  render(<LogView name="Log" lines={["a", "b"]} isLive />);
  const follow = screen.getByRole<HTMLInputElement>("checkbox", { name: "Follow" });
  expect(follow.checked).toBe(true);
  await user.type(screen.getByLabelText("Search the log"), "a{Enter}");
  expect(follow.checked).toBe(false);
  await user.click(follow);
  expect(follow.checked).toBe(true);
});
