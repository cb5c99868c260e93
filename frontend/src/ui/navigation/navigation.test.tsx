import { render, screen } from "@testing-library/react";
import { type ReactElement, useMemo } from "react";
import { expect, test, vi } from "vitest";
import { useActions, useScreenActions } from "./actions";
import { fuzzyFilter, fuzzyScore } from "./fuzzy";
import { useScreenAction } from "./useScreenAction";
import { activeShortcuts, onShortcutKey, useShortcuts } from "./shortcuts";

test("the best match comes first", () => {
  const items = ["Datasets", "Traces", "Plan & launch"].map((label) => ({ label }));
  expect(fuzzyFilter("tr", items).map(({ label }) => label)).toEqual(["Traces"]);
  expect(fuzzyFilter("la", items)[0]?.label).toBe("Plan & launch");
  expect(fuzzyScore("sec", "Traces")).toBeNull();
  expect(fuzzyFilter("", items)).toEqual(items);
});

function Keys({ run }: { run: () => void }): ReactElement {
  useShortcuts([{ keys: "x y", label: "Do it", run }]);
  return <input aria-label="Text" />;
}

const press = (key: string, init: KeyboardEventInit = {}): void => {
  onShortcutKey(new KeyboardEvent("keydown", { key, cancelable: true, ...init }));
};

test("key sequences run while the component is mounted", () => {
  const run = vi.fn();
  const { unmount } = render(<Keys run={run} />);
  expect(activeShortcuts().map(({ label }) => label)).toContain("Do it");
  press("x");
  press("y", { ctrlKey: true });
  expect(run).not.toHaveBeenCalled();
  press("y");
  expect(run).toHaveBeenCalledOnce();
  unmount();
  press("x");
  press("y");
  expect(run).toHaveBeenCalledOnce();
});

test("screen actions are offered while it is mounted", () => {
  function Screen(): null {
    useActions(useMemo(() => [{ label: "Cancel the run", run: vi.fn() }], []));
    return null;
  }
  function Palette(): ReactElement {
    return <output>{useScreenActions().map(({ label }) => label)}</output>;
  }
  const { rerender } = render(
    <>
      <Screen />
      <Palette />
    </>,
  );
  expect(screen.getByRole("status").textContent).toBe("Cancel the run");
  rerender(<Palette />);
  expect(screen.getByRole("status").textContent).toBe("");
});

test("a screen action has a palette entry and a key", () => {
  const [first, second] = [vi.fn(), vi.fn()];
  function Screen({ run }: { run: () => void }): ReactElement {
    useScreenAction("Start a run", "n", run);
    return <output>{useScreenActions().map(({ label, hint }) => `${label} ${hint ?? ""}`)}</output>;
  }
  const { rerender } = render(<Screen run={first} />);
  expect(screen.getByRole("status").textContent).toBe("Start a run n");
  rerender(<Screen run={second} />);
  press("n");
  expect(first).not.toHaveBeenCalled();
  expect(second).toHaveBeenCalledOnce();
});
