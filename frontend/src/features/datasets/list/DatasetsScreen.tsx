import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { shellQuoted, type Snippets, snippets } from "../../../ui/copy/snippets";
import { buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { withChanges } from "../../../ui/navigation/search";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { Page } from "../../../ui/layout/Page";
import styles from "../datasets.module.css";
import { DatasetTable } from "./DatasetTable";

const route = getRouteApi("/datasets");

/** Every dataset of this home. */
export function DatasetsScreen(): ReactElement {
  const { text, chosen = [] } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: DatasetsSearch): void => {
    void navigate({ search: withChanges<DatasetsSearch>(changes), replace: true });
  };
  useScreenAction("Build a dataset", NEW_KEY, () => void navigate({ to: "/datasets/new" }));
  const [base, other] = [...chosen].sort();
  return (
    <Page
      title="Datasets"
      about="Immutable selections of traces with splits, statistics and an eval set check."
      actions={
        <>
          <CopyAs snippets={listSnippets(text)} />
          {base !== undefined && other !== undefined ? (
            <Link
              to="/datasets/$datasetKey/diff"
              params={{ datasetKey: base }}
              search={{ other }}
              className={buttonClass()}
            >
              Compare selected
            </Link>
          ) : null}
          <Link to="/datasets/new" className={buttonClass("primary")}>
            Build a dataset
          </Link>
        </>
      }
    >
      <search className={styles.search}>
        <TextField
          label="Search"
          type="search"
          placeholder="part of the key"
          value={text ?? ""}
          onChange={(typed) => {
            change({ text: typed });
          }}
        />
      </search>
      <DatasetTable
        text={text}
        chosen={chosen}
        onChoose={(next) => {
          change({ chosen: next });
        }}
      />
    </Page>
  );
}

interface DatasetsSearch {
  text?: string;
  chosen?: string[];
}

function listSnippets(text: string | undefined): Snippets {
  if (text === undefined) return snippets({ cli: "tunix-rt data list", path: "/api/datasets" });
  const path = `/api/datasets?text=${encodeURIComponent(text)}`;
  return snippets({ cli: `tunix-rt data list --text ${shellQuoted(text)}`, path });
}
