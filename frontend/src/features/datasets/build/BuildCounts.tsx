import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useEffect, useState } from "react";
import { previewQuery } from "../queries";
import type { DatasetSpec } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import styles from "./build.module.css";
import type { BuildChange } from "./form";
import { PreviewView } from "./PreviewView";

const DEBOUNCE_MS = 300;

interface BuildCountsProps {
  /** Null while a field is invalid. */
  spec: DatasetSpec | null;
  onChange: (changes: BuildChange) => void;
}

/** The row counts of the build, updated as the form changes. */
export function BuildCounts({ spec, onChange }: BuildCountsProps): ReactElement {
  const debounced = useDebouncedSpec(spec);
  const preview = useQuery(previewQuery(debounced));
  if (preview.isError) {
    return (
      <ErrorNotice error={preview.error} title="Could not count the traces" onRetry={() => void preview.refetch()} />
    );
  }
  if (spec === null && preview.data === undefined) return <p>Correct the invalid fields to see the counts.</p>;
  if (preview.data === undefined) return <Loading what="Counting traces…" />;
  const isStale = preview.isPlaceholderData || JSON.stringify(spec) !== JSON.stringify(debounced);
  return (
    <div className={isStale ? styles.stale : undefined} aria-busy={isStale}>
      <PreviewView preview={preview.data} onChange={onChange} spec={debounced ?? spec} />
    </div>
  );
}

/** Debounces the spec by its content, because every render creates a new object. */
function useDebouncedSpec(spec: DatasetSpec | null): DatasetSpec | null {
  const [debounced, setDebounced] = useState(spec);
  const text = JSON.stringify(spec);
  useEffect(() => {
    const timer = setTimeout(() => {
      setDebounced(JSON.parse(text) as DatasetSpec | null);
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return debounced;
}
