import { useStored } from "../hooks/useStored";

/** A named set of filters and order. */
export interface View<Search> {
  name: string;
  search: Search;
}

interface Views<Search> {
  views: View<Search>[];
  save: (view: View<Search>) => void;
  remove: (name: string) => void;
}

/** Parses a search from the URL or from storage written by an earlier version. */
export type ReadSearch<Search> = (raw: Record<string, unknown>) => Search;

/** The views of a list saved in this browser. Saving under the same name replaces a view. */
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
    // The stored value is not ours: ignore it.
    return [];
  }
}

function readView<Search>(raw: unknown, read: ReadSearch<Search>): View<Search>[] {
  if (typeof raw !== "object" || raw === null || !("name" in raw) || !("search" in raw)) return [];
  const { name, search } = raw;
  if (typeof name !== "string" || typeof search !== "object" || search === null) return [];
  return [{ name, search: read({ ...search }) }];
}
