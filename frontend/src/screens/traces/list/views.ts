import { useStored } from "../../../ui/stored";
import { traceSearch, type TraceSearch } from "./filters";

/** A filtered and sorted list under a name. */
export interface View {
  name: string;
  search: TraceSearch;
}

/** What everybody looks for. */
export const BUILT_IN: readonly View[] = [
  { name: "All", search: {} },
  { name: "Lowest scores", search: { order: "worst" } },
  { name: "Wrong arithmetic", search: { code: ["arithmetic-wrong"] } },
  { name: "Answer does not follow", search: { code: ["answer-mismatch"] } },
  { name: "Reviewed", search: { meta: ["reviewed=true"] } },
];

interface SavedViews {
  views: View[];
  save: (view: View) => void;
  remove: (name: string) => void;
}

/** The views that were saved in this browser; saving under the same name replaces. */
export function useViews(): SavedViews {
  const [stored, setStored] = useStored("traces.views");
  const views = readViews(stored);
  const without = (name: string): View[] => views.filter((view) => view.name !== name);
  return {
    views,
    save: (view) => {
      setStored(JSON.stringify([...without(view.name), view]));
    },
    remove: (name) => {
      setStored(JSON.stringify(without(name)));
    },
  };
}

export function isSameView(one: TraceSearch, other: TraceSearch): boolean {
  const text = (search: TraceSearch): string => JSON.stringify(Object.entries(traceSearch(search)).sort());
  return text(one) === text(other);
}

function readViews(stored: string | null): View[] {
  try {
    const read: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(read) ? read.flatMap(readView) : [];
  } catch {
    // Someone else wrote there: the views are lost, the list is not.
    return [];
  }
}

function readView(raw: unknown): View[] {
  if (typeof raw !== "object" || raw === null || !("name" in raw) || !("search" in raw)) return [];
  const { name, search } = raw;
  if (typeof name !== "string" || typeof search !== "object" || search === null) return [];
  return [{ name, search: traceSearch({ ...search }) }];
}
