import { useStored } from "../stored";

/** A filtered and sorted list under a name. */
export interface View<Search> {
  name: string;
  search: Search;
}

interface Views<Search> {
  views: View<Search>[];
  save: (view: View<Search>) => void;
  remove: (name: string) => void;
}

/** Reads what the URL, or an earlier version of the app, may have written. */
export type ReadSearch<Search> = (raw: Record<string, unknown>) => Search;

/** The views of a list that were saved in this browser; saving under the same name replaces. */
export function useViews<Search>(list: string, read: ReadSearch<Search>): Views<Search> {
  const [stored, setStored] = useStored(`${list}.views`);
  const views = readViews(stored, read);
  const without = (name: string): View<Search>[] => views.filter((view) => view.name !== name);
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

export function isSameView(one: object, other: object): boolean {
  const text = (search: object): string => JSON.stringify(Object.entries(search).sort());
  return text(one) === text(other);
}

function readViews<Search>(stored: string | null, read: ReadSearch<Search>): View<Search>[] {
  try {
    const raw: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(raw) ? raw.flatMap((one) => readView(one, read)) : [];
  } catch {
    // Someone else wrote there: the views are lost, the list is not.
    return [];
  }
}

function readView<Search>(raw: unknown, read: ReadSearch<Search>): View<Search>[] {
  if (typeof raw !== "object" || raw === null || !("name" in raw) || !("search" in raw)) return [];
  const { name, search } = raw;
  if (typeof name !== "string" || typeof search !== "object" || search === null) return [];
  return [{ name, search: read({ ...search }) }];
}
