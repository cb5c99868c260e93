import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answer, http, HttpResponse, refuse, server } from "../testing/http";
import { renderApp } from "../testing/render";
import { NAV_ITEMS } from "./shell/navItems";

// These tests cover the shell around the screens, so all other requests are refused.
beforeEach(() => {
  server.use(answer("/api/session", { scope: "admin" }), refuse("/api/*"));
});

const heading = (name: string | RegExp): Promise<HTMLElement> => screen.findByRole("heading", { level: 1, name });

test.each(NAV_ITEMS.filter(({ to }) => to !== "/"))("the navigation opens $label", async ({ to, label }) => {
  const { user, address } = renderApp("/no-such-page");
  const navItems = await screen.findByRole("navigation", { name: "Screens" });
  await user.click(within(navItems).getByRole("link", { name: label }));
  await waitFor(() => {
    expect(address()).toBe(to);
  });
  expect(within(navItems).getByRole("link", { name: label }).getAttribute("aria-current")).toBe("page");
});

test("an unknown URL shows a not-found page", async () => {
  renderApp("/no-such-page");
  await heading("Page not found");
  expect(screen.getByRole("link", { name: "Go home" })).toBeTruthy();
  expect(document.title).toBe("Page not found · Tunix RT");
});

test("g and a letter open a screen, and its heading takes the focus", async () => {
  const { user, address } = renderApp("/no-such-page");
  await heading("Page not found");
  await user.keyboard("gv");
  const opened = await heading("Evidence");
  expect(address()).toBe("/evidence");
  expect(document.activeElement).toBe(opened);
});

test("the palette finds a screen by a few letters", async () => {
  const { user, address } = renderApp("/no-such-page");
  await heading("Page not found");
  await user.keyboard("{Control>}k{/Control}");
  await user.type(screen.getByRole("combobox"), "mdl{Enter}");
  await waitFor(() => {
    expect(address()).toBe("/models");
  });
  expect(screen.queryByRole("combobox")).toBeNull();
});

test("the palette searches items of the home", async () => {
  const page = (data: object[]) => ({ data, pagination: { limit: 4, offset: 0, total: 1, total_is_exact: true } });
  server.use(
    answer("/api/tunix/runs", page([{ run_id: "20261115-120000-rate-1a2b" }])),
    answer("/api/datasets", { ...page([{ dataset_key: "rates-v1" }]), damaged: [] }),
    answer("/api/models", page([{ name: "rated" }, { name: "other" }])),
    answer("/api/traces", page([{ id: "t-1", prompt_start: "At what rate?" }])),
  );
  const { user, address } = renderApp("/no-such-page");
  await heading("Page not found");
  await user.keyboard("{Control>}k{/Control}");
  await user.type(screen.getByRole("combobox"), "rate");
  const home = await screen.findByRole("group", { name: "In this home" });
  const names = within(home).getAllByRole("option");
  expect(names.map(({ textContent }) => textContent)).toEqual([
    "rate-1a2b run",
    "rates-v1 dataset",
    "rated model",
    "At what rate? trace",
  ]);
  await user.click(within(home).getByRole("option", { name: /rates-v1/ }));
  await waitFor(() => {
    expect(address()).toBe("/datasets/rates-v1");
  });
});

test("? lists the shortcuts, which can be turned off", async () => {
  const { user, address } = renderApp("/no-such-page");
  await heading("Page not found");
  await user.keyboard("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  expect(within(help).getByText("Go to Runs")).toBeTruthy();
  await user.click(within(help).getByRole("checkbox", { name: "Single-key shortcuts" }));
  await user.click(within(help).getByRole("button", { name: "Close" }));
  await user.keyboard("gv");
  expect(address()).toBe("/no-such-page");
});

test("the theme cycles and is stored", async () => {
  const { user } = renderApp("/no-such-page");
  await user.click(await screen.findByRole("button", { name: /Theme: system/ }));
  expect(document.documentElement.dataset.theme).toBe("light");
  await user.click(screen.getByRole("button", { name: /Theme: light/ }));
  expect(document.documentElement.dataset.theme).toBe("dark");
  await user.click(screen.getByRole("button", { name: /Theme: dark/ }));
  expect(document.documentElement.dataset.theme).toBeUndefined();
});

test("a server with access tokens asks to sign in", async () => {
  let isSignedIn = false;
  const refusal = { detail: "The access token is not valid.", next_step: "Make one.", code: "unauthorized" };
  server.use(
    http.get("/api/session", () =>
      isSignedIn
        ? HttpResponse.json({ scope: "read", token_name: "laptop" })
        : HttpResponse.json(refusal, { status: 401 }),
    ),
    http.post("/api/session", ({ request }) => {
      isSignedIn = request.headers.get("authorization") === "Bearer right";
      return isSignedIn ? HttpResponse.json({ scope: "read" }) : HttpResponse.json(refusal, { status: 401 });
    }),
    http.delete("/api/session", () => {
      isSignedIn = false;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderApp("/no-such-page");
  const field = await screen.findByLabelText("Access token");
  await user.type(field, "wrong{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("not valid");
  await user.clear(field);
  await user.type(field, "right{Enter}");
  await heading("Page not found");
  await user.click(await screen.findByRole("button", { name: "Sign out" }));
  await heading("Sign in to Tunix RT");
});

test("the mobile menu closes after navigation", async () => {
  const { user } = renderApp("/no-such-page");
  const menu = await screen.findByRole("button", { name: "Screens" });
  await user.click(menu);
  expect(menu.getAttribute("aria-expanded")).toBe("true");
  await user.click(within(screen.getByRole("navigation", { name: "Screens" })).getByRole("link", { name: "Evidence" }));
  await waitFor(() => {
    expect(menu.getAttribute("aria-expanded")).toBe("false");
  });
});

test("a palette without matches says so", async () => {
  const { user } = renderApp("/no-such-page");
  await user.click(await screen.findByRole("button", { name: /Search or run a command/ }));
  await user.type(screen.getByRole("combobox"), "qqqq");
  expect(screen.getByText("No matches.")).toBeTruthy();
  fireEvent(screen.getByRole("dialog"), new Event("close"));
  await waitFor(() => {
    expect(screen.queryByRole("combobox")).toBeNull();
  });
});
