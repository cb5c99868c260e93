import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Pagination } from "../../api/schema.gen";

export interface Page<Row> {
  data: Row[];
  pagination: Pagination;
}

interface PagedRowsOptions<Row> {
  /** Everything that decides which rows there are; the page is added to it. */
  queryKey: readonly unknown[];
  fetchPage: (page: { limit: number; offset: number }) => Promise<Page<Row>>;
  pageSize?: number;
  /** How often the pages in sight are read again; false: never. */
  refetchInterval?: number | false;
}

export interface PagedRows<Row> {
  isPending: boolean;
  error: Error | null;
  refetch: () => void;
  numRows: number;
  /** Whether `numRows` is all of them, or more are there. */
  isExact: boolean;
  rowAt: (index: number) => Row | undefined;
  /** For `VirtualTable`: the pages in sight are fetched. */
  onRange: (first: number, last: number) => void;
}

/**
 * Rows of a list route, page by page as they come into sight.
 *
 * @example
 * const rows = usePagedRows({ queryKey: ["runs", filters], fetchPage: (page) => listRuns({ ...filters, ...page }) });
 */
export function usePagedRows<Row>(options: PagedRowsOptions<Row>): PagedRows<Row> {
  const { queryKey, fetchPage, pageSize = 100, refetchInterval = false } = options;
  const [range, setRange] = useState({ first: 0, last: 0 });
  const pageQuery = (page: number) => ({
    queryKey: [...queryKey, { page, pageSize }],
    queryFn: () => fetchPage({ limit: pageSize, offset: page * pageSize }),
    refetchInterval,
  });
  const first = useQuery({ ...pageQuery(0), placeholderData: keepPreviousData });
  const firstPage = Math.floor(range.first / pageSize);
  const numPages = Math.floor(range.last / pageSize) - firstPage + 1;
  const shown = useQueries({ queries: Array.from({ length: numPages }, (_, index) => pageQuery(firstPage + index)) });
  const rowAt = (index: number): Row | undefined => {
    const page = Math.floor(index / pageSize);
    const data = page === 0 ? first.data : shown[page - firstPage]?.data;
    return data?.data[index % pageSize];
  };
  return {
    isPending: first.isPending,
    error: first.error,
    refetch: () => void first.refetch(),
    numRows: first.data?.pagination.total ?? 0,
    isExact: first.data?.pagination.total_is_exact ?? true,
    rowAt,
    onRange: (firstIndex, lastIndex) => {
      setRange({ first: firstIndex, last: lastIndex });
    },
  };
}
