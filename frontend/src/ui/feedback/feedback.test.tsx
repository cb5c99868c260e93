import { fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactElement, useState } from "react";
import { expect, test, vi } from "vitest";
import { ApiError } from "../../api/errors";
import { Button } from "../forms/Button";
import { ConfirmDialog } from "./ConfirmDialog";
import { ErrorNotice } from "./ErrorNotice";
import { Toasts } from "./Toasts";
import { showError, showToast } from "./toasts";

function Removal({ onConfirm }: { onConfirm: () => void }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        onClick={() => {
          setOpen(true);
        }}
      >
        Remove…
      </Button>
      <ConfirmDialog
        title="Remove it?"
        isOpen={isOpen}
        confirmLabel="Remove the run"
        isDangerous
        onConfirm={onConfirm}
        onClose={() => {
          setOpen(false);
        }}
      >
        Its files go too.
      </ConfirmDialog>
    </>
  );
}

test("a dangerous act is asked about, and happens only when it is confirmed", async () => {
  const user = userEvent.setup();
  const onConfirm = vi.fn();
  render(<Removal onConfirm={onConfirm} />);
  await user.click(screen.getByRole("button", { name: "Remove…" }));
  await user.click(
    within(screen.getByRole("dialog", { name: "Remove it?" })).getByRole("button", { name: "Keep it as it is" }),
  );
  expect(onConfirm).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(screen.getByRole("button", { name: "Remove…" }));
  await user.click(screen.getByRole("button", { name: "Remove…" }));
  await user.click(screen.getByRole("button", { name: "Remove the run" }));
  expect(onConfirm).toHaveBeenCalledOnce();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("a press that begins and ends beside a dialog closes it; one inside, or one that slips out, does not", async () => {
  const user = userEvent.setup();
  render(<Removal onConfirm={vi.fn()} />);
  await user.click(screen.getByRole("button", { name: "Remove…" }));
  const dialog = screen.getByRole("dialog", { name: "Remove it?" });
  vi.spyOn(dialog, "getBoundingClientRect").mockReturnValue(new DOMRect(100, 100, 300, 200));
  const press = (from: number, to: number): void => {
    fireEvent.mouseDown(dialog, { clientX: from, clientY: 150 });
    fireEvent.click(dialog, { clientX: to, clientY: 150 });
  };

  press(110, 110);
  press(110, 50);
  expect(screen.queryByRole("dialog")).toBe(dialog);

  press(50, 50);
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("an error of ours names the next step; any other is said to be a bug", () => {
  const body = { detail: "No such run.", next_step: "List them.", code: "not-found" };
  const { rerender } = render(<ErrorNotice error={new ApiError(404, body)} />);
  expect(screen.getByRole("alert").textContent).toContain("No such run.Next: List them.");
  rerender(<ErrorNotice error={new Error("x is undefined")} />);
  expect(screen.getByRole("alert").textContent).toContain("bug");
});

test("messages appear and can be dismissed; an error brings its next step", async () => {
  render(<Toasts />);
  showToast("Saved.");
  showError(Object.assign(new Error("No."), { nextStep: "Try later." }));
  await screen.findByText("No. Try later.");
  await userEvent.click(screen.getAllByRole("button", { name: "Dismiss" })[0] ?? document.body);
  expect(screen.queryByText("Saved.")).toBeNull();
});
