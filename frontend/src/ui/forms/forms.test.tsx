import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Tabs } from "../layout/Tabs";
import { Button } from "./Button";
import { CheckboxGroup } from "./CheckboxGroup";
import { Select } from "./Select";
import { TextArea } from "./TextArea";
import { TextField } from "./TextField";

const CHOICES = [
  { value: "a", label: "Alpha" },
  { value: "b", label: "Beta" },
] as const;

test("a field is described by its help and error", () => {
  render(<TextField label="Steps" help="At least 1." error="Must be a number." value="x" onChange={vi.fn()} />);
  const field = screen.getByRole("textbox", { name: "Steps", description: "At least 1. Must be a number." });
  expect(field.getAttribute("aria-invalid")).toBe("true");
});

test("fields report their value", async () => {
  const user = userEvent.setup();
  const [onText, onArea, onSelect] = [vi.fn(), vi.fn(), vi.fn()];
  render(
    <>
      <TextField label="Name" isLabelHidden value="" onChange={onText} />
      <TextArea label="Notes" value="" onChange={onArea} />
      <Select label="Kind" value="a" choices={CHOICES} onChange={onSelect} />
    </>,
  );
  await user.type(screen.getByLabelText("Name"), "n");
  await user.type(screen.getByLabelText("Notes"), "m");
  await user.selectOptions(screen.getByLabelText("Kind"), "Beta");
  expect([onText.mock.calls, onArea.mock.calls, onSelect.mock.calls]).toEqual([[["n"]], [["m"]], [["b"]]]);
});

test("checked values keep the order of the choices", async () => {
  const onChange = vi.fn();
  render(<CheckboxGroup label="Kinds" choices={CHOICES} values={["b"]} onChange={onChange} />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Alpha" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "Beta" }));
  expect(onChange.mock.calls).toEqual([[["a", "b"]], [[]]]);
});

test("a busy button is disabled", () => {
  render(<Button isBusy>Save</Button>);
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Save" });
  expect([button.disabled, button.getAttribute("aria-busy")]).toEqual([true, "true"]);
});

test("arrow keys cycle through tabs", async () => {
  const user = userEvent.setup();
  const onChoose = vi.fn();
  const tabs = [
    { key: "log", label: "Log" },
    { key: "files", label: "Files" },
  ] as const;
  render(
    <Tabs label="Run" tabs={tabs} chosen="files" onChoose={onChoose}>
      the files
    </Tabs>,
  );
  expect(screen.getByRole("tabpanel", { name: "Files" }).textContent).toBe("the files");
  screen.getByRole("tab", { name: "Files" }).focus();
  await user.keyboard("{ArrowRight}{Tab}");
  await user.click(screen.getByRole("tab", { name: "Log" }));
  expect(onChoose.mock.calls).toEqual([["log"], ["log"]]);
});
