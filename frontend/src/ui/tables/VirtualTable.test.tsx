import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactElement, useState } from "react";
import { expect, test, vi } from "vitest";
import { http, HttpResponse, server } from "../../testing/http";
import { renderWithQueries } from "../../testing/render";
import type { Sort } from "./columns";
import { type Page, usePagedRows } from "./usePagedRows";
import { VirtualTable, type VirtualTableProps } from "./VirtualTable";

interface Row {
  id: number;
}

const COLUMNS = [
  { key: "id", header: "Id", cell: (row: Row) => `row ${row.id}`, isSortable: true },
  { key: "square", header: "Square", cell: (row: Row) => row.id ** 2, isSecondary: true },
];

function Numbers(props: Partial<VirtualTableProps<Row>>): ReactElement {
  return (
    <VirtualTable
      name="Numbers"
      columns={COLUMNS}
      numRows={100_000}
      rowAt={(id) => ({ id })}
      rowKey={({ id }) => `${id}`}
      {...props}
    />
  );
}

test("only the visible rows of a long table are rendered", () => {
  render(<Numbers />);
  expect(screen.getByRole("grid", { name: "Numbers" }).getAttribute("aria-rowcount")).toBe("100001");
  expect(screen.getAllByRole("row").length).toBeLessThan(60);
  expect(screen.getByRole("row", { name: /row 3/ }).getAttribute("aria-rowindex")).toBe("5");
});

test("a header cycles through sort directions", async () => {
  const user = userEvent.setup();
  function Sorted(): ReactElement {
    const [sort, setSort] = useState<Sort | null>(null);
    return <Numbers sort={sort} onSort={setSort} />;
  }
  render(<Sorted />);
  const header = screen.getByRole("columnheader", { name: /Id/ });
  const seen = [header.getAttribute("aria-sort")];
  for (let press = 0; press < 3; press += 1) {
    await user.click(within(header).getByRole("button"));
    seen.push(header.getAttribute("aria-sort"));
  }
  expect(seen).toEqual(["none", "ascending", "descending", "none"]);
});

test("arrow keys move, Enter opens, Space selects", async () => {
  const user = userEvent.setup();
  const [onOpen, toggle] = [vi.fn(), vi.fn()];
  render(<Numbers onOpen={onOpen} selection={{ has: ({ id }) => id === 0, toggle }} />);
  screen.getByRole("row", { name: /row 0/ }).focus();
  await user.keyboard("{ArrowDown}");
  await waitFor(() => {
    expect(document.activeElement?.getAttribute("aria-rowindex")).toBe("3");
  });
  await user.keyboard("{Enter} ");
  expect(onOpen).toHaveBeenCalledWith({ id: 1 });
  expect(toggle).toHaveBeenCalledWith({ id: 1 }, false);
  await user.click(screen.getByRole("checkbox", { name: "Select 2" }));
  expect(toggle).toHaveBeenLastCalledWith({ id: 2 }, false);
  expect(screen.getByRole("row", { name: /row 0/ }).getAttribute("aria-selected")).toBe("true");
});

test("a row that is not loaded is a placeholder", () => {
  render(<Numbers numRows={2} rowAt={(id) => (id === 0 ? { id } : undefined)} />);
  expect(screen.getAllByRole("row").at(-1)?.getAttribute("aria-busy")).toBe("true");
});

function Paged(): ReactElement {
  const rows = usePagedRows<Row>({
    queryKey: ["numbers"],
    pageSize: 10,
    fetchPage: async ({ limit, offset }) => {
      const response = await fetch(`/api/numbers?limit=${limit}&offset=${offset}`);
      return (await response.json()) as Page<Row>;
    },
  });
  return rows.isPending ? <p>wait</p> : <Numbers {...rows} />;
}

test("only the visible pages are fetched", async () => {
  const offsets = new Set<number>();
  server.use(
    http.get("/api/numbers", ({ request }) => {
      const offset = Number(new URL(request.url).searchParams.get("offset"));
      offsets.add(offset);
      const data = Array.from({ length: 10 }, (_, index) => ({ id: offset + index }));
      const pagination = { limit: 10, offset, total: 100_000, total_is_exact: true };
      return HttpResponse.json({ data, pagination });
    }),
  );
  renderWithQueries(<Paged />);
  await screen.findByRole("row", { name: /row 12/ });
  expect([...offsets].sort((a, b) => a - b)).toEqual([0, 10, 20]);
});
