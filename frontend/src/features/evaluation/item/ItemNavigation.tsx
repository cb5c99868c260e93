import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { itemsAroundQuery } from "../queries";
import type { Prediction } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { itemFilters, type ItemSearch } from "../filters";

interface ItemNavigationProps {
  evaluationId: string;
  itemId: string;
  search: ItemSearch;
}

/** Enough rows to skip the other samples of the same item. */
const NUM_AROUND = 40;

/** Buttons and keys (k, j) to the previous and next item in the list it was opened from. */
export function ItemNavigation({ evaluationId, itemId, search }: ItemNavigationProps): ReactElement | null {
  const navigate = useNavigate();
  const filters = itemFilters(search);
  const { at } = search;
  const offset = Math.max(0, (at ?? 0) - NUM_AROUND);
  const around = useQuery({
    ...itemsAroundQuery(evaluationId, { ...filters, offset, limit: 2 * NUM_AROUND + 1 }),
    enabled: at !== undefined,
  });
  const { before, after } = adjacentItems(around.data?.data ?? [], (at ?? 0) - offset, itemId);
  const go = (index: number | undefined): void => {
    const found = index === undefined ? undefined : around.data?.data[index];
    if (index === undefined || found === undefined) return;
    const params = { evaluationId, itemId: found.item_id };
    const to = "/evaluations/$evaluationId/items/$itemId" as const;
    void navigate({ to, params, search: { ...filters, at: offset + index } });
  };
  useShortcuts([
    {
      keys: "j",
      label: "Next item",
      run: () => {
        go(after);
      },
    },
    {
      keys: "k",
      label: "Previous item",
      run: () => {
        go(before);
      },
    },
  ]);
  if (at === undefined) return null;
  return (
    <>
      <Button
        disabled={before === undefined}
        title="k"
        onClick={() => {
          go(before);
        }}
      >
        Previous item
      </Button>
      <Button
        kind="primary"
        disabled={after === undefined}
        title="j"
        onClick={() => {
          go(after);
        }}
      >
        Next item
      </Button>
    </>
  );
}

/** The indexes of the nearest rows with another item. */
export function adjacentItems(
  rows: readonly Pick<Prediction, "item_id">[],
  at: number,
  itemId: string,
): { before: number | undefined; after: number | undefined } {
  const others = rows.flatMap(({ item_id }, index) => (item_id === itemId ? [] : [index]));
  return { before: others.findLast((index) => index < at), after: others.find((index) => index > at) };
}
