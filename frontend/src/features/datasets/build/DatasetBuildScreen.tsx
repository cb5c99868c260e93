import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import styles from "./build.module.css";
import { BuildCounts } from "./BuildCounts";
import { BuildSubmit } from "./BuildSubmit";
import { ChooseTraces } from "./ChooseTraces";
import { CleanAndSplit } from "./CleanAndSplit";
import type { BuildChange, BuildForm } from "./form";
import { NameAndVersion } from "./NameAndVersion";
import { buildCommand, errorsOf, specOf } from "./spec";

const route = getRouteApi("/datasets/new");

/** The build form in three steps, beside live row counts. */
export function DatasetBuildScreen(): ReactElement {
  const form = route.useSearch();
  const navigate = route.useNavigate();
  const errors = errorsOf(form);
  const onChange = (changes: BuildChange): void => {
    void navigate({ search: withChanges<BuildForm>(changes), replace: true });
  };
  const spec = specOf(form);
  const copied = snippets({ cli: buildCommand(form), method: "POST", path: "/api/datasets/build", body: spec });
  return (
    <Page title="Build a dataset" actions={<CopyAs snippets={copied} />}>
      <div className={styles.wizard}>
        <div className={styles.steps}>
          <ChooseTraces form={form} errors={errors} onChange={onChange} />
          <CleanAndSplit form={form} errors={errors} onChange={onChange} />
          <NameAndVersion form={form} errors={errors} onChange={onChange} />
          <BuildSubmit form={form} errors={errors} />
        </div>
        <aside className={styles.counts} aria-label="Build preview">
          <BuildCounts spec={Object.keys(errors).length === 0 ? spec : null} onChange={onChange} />
        </aside>
      </div>
    </Page>
  );
}
