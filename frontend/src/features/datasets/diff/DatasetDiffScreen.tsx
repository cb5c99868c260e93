import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { datasetChoicesQuery } from "../queries";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Empty } from "../../../ui/feedback/Empty";
import { buttonClass } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import styles from "../datasets.module.css";
import { DiffPanel } from "./DiffPanel";
import type { DiffSearch } from "./search";

const route = getRouteApi("/datasets/$datasetKey/diff");

/** The changes from this dataset to another one. */
export function DatasetDiffScreen(): ReactElement {
  const { datasetKey } = route.useParams();
  const { other = "", offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: DiffSearch): void => {
    void navigate({ search: withChanges<DiffSearch>(changes), replace: true });
  };
  return (
    <Page
      title={`Changes since ${datasetKey}`}
      actions={
        <>
          {other === "" ? null : (
            <CopyAs
              snippets={snippets({
                cli: `tunix-rt data diff ${datasetKey} ${other}`,
                path: `/api/datasets/${datasetKey}/diff?other=${other}`,
              })}
            />
          )}
          {other === "" ? null : (
            <Link
              to="/datasets/$datasetKey/diff"
              params={{ datasetKey: other }}
              search={{ other: datasetKey }}
              className={buttonClass()}
            >
              Swap
            </Link>
          )}
        </>
      }
    >
      <DatasetSelect
        base={datasetKey}
        other={other}
        onChoose={(next) => {
          change({ other: next, offset: 0 });
        }}
      />
      {other === "" ? (
        <Empty title="Choose a dataset">
          <p>Choose the dataset to compare with. Rows, answers and splits that differ are listed here.</p>
        </Empty>
      ) : (
        <DiffPanel
          base={datasetKey}
          other={other}
          offset={offset}
          onOffset={(next) => {
            change({ offset: next });
          }}
        />
      )}
    </Page>
  );
}

interface DatasetSelectProps {
  base: string;
  other: string;
  onChoose: (other: string) => void;
}

function DatasetSelect({ base, other, onChoose }: DatasetSelectProps): ReactElement {
  const { data, error } = useQuery(datasetChoicesQuery);
  const keys = (data?.data ?? []).map(({ dataset_key }) => dataset_key).filter((key) => key !== base);
  const known = other === "" || keys.includes(other) ? keys : [...keys, other];
  const choices = [{ value: "", label: "choose a dataset" }, ...known.map((key) => ({ value: key, label: key }))];
  return (
    <div className={styles.row}>
      <Select label="Compare with" value={other} choices={choices} onChange={onChoose} error={error?.message} />
    </div>
  );
}
