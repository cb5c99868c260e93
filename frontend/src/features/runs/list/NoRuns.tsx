import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { buttonClass } from "../../../ui/forms/Button";

export function NoRuns({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No runs match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  return (
    <Empty
      title="No runs yet"
      actions={
        <Link to="/launch" className={buttonClass()}>
          Plan a run
        </Link>
      }
    >
      <p>A run trains a model from a recipe and keeps all evidence of it. A tiny one takes a minute on any machine:</p>
      <Command>tunix-rt runs submit smoke_tiny</Command>
    </Empty>
  );
}
