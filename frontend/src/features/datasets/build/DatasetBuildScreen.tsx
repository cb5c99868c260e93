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
import { NameIt } from "./NameIt";
import { buildCommand, errorsOf, specOf } from "./spec";

const route = getRouteApi("/datasets/new");

/** Three questions, and beside them what a build would take at this moment. */
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
          <NameIt form={form} errors={errors} onChange={onChange} />
          <BuildSubmit form={form} errors={errors} />
        </div>
        <aside className={styles.counts} aria-label="What the build would take">
          <BuildCounts spec={Object.keys(errors).length === 0 ? spec : null} onChange={onChange} />
        </aside>
      </div>
    </Page>
  );
}
