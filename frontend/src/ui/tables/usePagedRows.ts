import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Pagination } from "../../api/schema.gen";

export interface Page<Row> {
  data: Row[];
  pagination: Pagination;
}

interface PagedRowsOptions<Row> {
  /** The query key without the page. */
  queryKey: readonly unknown[];
  fetchPage: (page: { limit: number; offset: number }) => Promise<Page<Row>>;
  pageSize?: number;
  /** The refetch interval of the visible pages, or false. */
  refetchInterval?: number | false;
}

export interface PagedRows<Row> {
  isPending: boolean;
  error: Error | null;
  refetch: () => void;
  numRows: number;
  /** Whether `numRows` is the exact total. If not, there are more. */
  isExact: boolean;
  rowAt: (index: number) => Row | undefined;
  /** For `VirtualTable`: fetches the visible pages. */
  onRange: (first: number, last: number) => void;
}

/**
 * Rows of a list route, fetched page by page as they become visible.
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
