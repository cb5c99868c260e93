import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Toasts } from "../feedback/Toasts";
import { Command } from "./Command";
import { CopyAs } from "./CopyAs";
import { shellQuoted, snippets } from "./snippets";

test("a request is rendered as curl and Python", () => {
  const body = { recipe: "it's", is_held: true, overrides: [1, null] };
  const result = snippets({ cli: "tunix-rt runs submit", method: "POST", path: "/api/x", body }, "http://box:8000");
  expect(result.curl).toBe(
    `curl -X POST -H 'content-type: application/json' -d '{"recipe":"it'\\''s","is_held":true,"overrides":[1,null]}' http://box:8000/api/x`,
  );
  expect(result.python).toContain(
    `httpx.post("http://box:8000/api/x", json={"recipe": "it's", "is_held": True, "overrides": [1, None]})`,
  );
  expect(snippets({ cli: "", path: "/api/x?a=1" }, "http://box").curl).toBe("curl 'http://box/api/x?a=1'");
});

test("shell words are quoted", () => {
  expect(["a-b.c", "two words", "$x", ""].map(shellQuoted)).toEqual(["a-b.c", "'two words'", "'$x'", "''"]);
});

test("the chosen format is copied with a toast", async () => {
  const user = userEvent.setup();
  render(
    <>
      <CopyAs snippets={snippets({ cli: "tunix-rt runs list", path: "/api/tunix/runs" })} />
      <Command>tunix-rt up</Command>
      <Toasts />
    </>,
  );
  await user.click(screen.getByRole("button", { name: "Copy as…" }));
  await user.click(screen.getByRole("button", { name: "Command line" }));
  expect(await navigator.clipboard.readText()).toBe("tunix-rt runs list");
  await screen.findByText("Copied: Command line");
  await user.click(screen.getByRole("button", { name: "Copy tunix-rt up" }));
  expect(await navigator.clipboard.readText()).toBe("tunix-rt up");
});

test("Escape closes the menu", async () => {
  const user = userEvent.setup();
  render(<CopyAs snippets={snippets({ cli: "x", path: "/" })} />);
  await user.click(screen.getByRole("button", { name: "Copy as…" }));
  await user.keyboard("{Escape}");
  expect(screen.queryByRole("button", { name: "curl" })).toBeNull();
});
