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

test("a dangerous action runs only when confirmed", async () => {
  const user = userEvent.setup();
  const onConfirm = vi.fn();
  render(<Removal onConfirm={onConfirm} />);
  await user.click(screen.getByRole("button", { name: "Remove…" }));
  await user.click(within(screen.getByRole("dialog", { name: "Remove it?" })).getByRole("button", { name: "Cancel" }));
  expect(onConfirm).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(screen.getByRole("button", { name: "Remove…" }));
  await user.click(screen.getByRole("button", { name: "Remove…" }));
  await user.click(screen.getByRole("button", { name: "Remove the run" }));
  expect(onConfirm).toHaveBeenCalledOnce();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("only a click on the backdrop closes a dialog", async () => {
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

test("API errors show the next step, other errors are bugs", () => {
  const body = { detail: "No such run.", next_step: "List them.", code: "not-found" };
  const { rerender } = render(<ErrorNotice error={new ApiError(404, body)} />);
  expect(screen.getByRole("alert").textContent).toContain("No such run.Next step: List them.");
  rerender(<ErrorNotice error={new Error("x is undefined")} />);
  expect(screen.getByRole("alert").textContent).toContain("bug");
});

test("toasts can be dismissed and errors show the next step", async () => {
  render(<Toasts />);
  showToast("Saved.");
  showError(Object.assign(new Error("No."), { nextStep: "Try later." }));
  await screen.findByText("No. Try later.");
  await userEvent.click(screen.getAllByRole("button", { name: "Dismiss" })[0] ?? document.body);
  expect(screen.queryByText("Saved.")).toBeNull();
});
