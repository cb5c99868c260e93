import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useEffect, useState } from "react";
import { previewQuery } from "../queries";
import type { DatasetSpec } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import styles from "./build.module.css";
import type { BuildChange } from "./form";
import { PreviewView } from "./PreviewView";

const SETTLED_AFTER_MS = 300;

interface BuildCountsProps {
  /** None while a field is wrong. */
  spec: DatasetSpec | null;
  onChange: (changes: BuildChange) => void;
}

/** What a build would take at this moment; it follows what is typed. */
export function BuildCounts({ spec, onChange }: BuildCountsProps): ReactElement {
  const settled = useSettled(spec);
  const preview = useQuery(previewQuery(settled));
  if (preview.isError) {
    return (
      <ErrorNotice
        error={preview.error}
        title="The traces could not be counted"
        onRetry={() => void preview.refetch()}
      />
    );
  }
  if (spec === null && preview.data === undefined)
    return <p>A field needs another value before anything is counted.</p>;
  if (preview.data === undefined) return <Loading what="Counting the traces…" />;
  const isStale = preview.isPlaceholderData || JSON.stringify(spec) !== JSON.stringify(settled);
  return (
    <div className={isStale ? styles.stale : undefined} aria-busy={isStale}>
      <PreviewView preview={preview.data} onChange={onChange} spec={settled ?? spec} />
    </div>
  );
}

/** The value once it has stayed the same for a moment; by what it says, since every render makes a new one. */
function useSettled(spec: DatasetSpec | null): DatasetSpec | null {
  const [settled, setSettled] = useState(spec);
  const text = JSON.stringify(spec);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(JSON.parse(text) as DatasetSpec | null);
    }, SETTLED_AFTER_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return settled;
}
