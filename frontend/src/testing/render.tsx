import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory } from "@tanstack/react-router";
import { render, type RenderResult } from "@testing-library/react";
import userEvent, { type UserEvent } from "@testing-library/user-event";
import type { ReactElement } from "react";
import { App } from "../app/App";
import { createAppRouter } from "../app/router";

interface Rendered extends RenderResult {
  user: UserEvent;
}

/** Renders a component with queries. Retries are off, so that errors show at once. */
export function renderWithQueries(element: ReactElement): Rendered {
  const queryClient = testQueryClient();
  const user = userEvent.setup();
  return { user, ...render(<QueryClientProvider client={queryClient}>{element}</QueryClientProvider>) };
}

/**
 * Renders the whole app at a URL.
 *
 * @example
 * const { user, address } = renderApp("/runs?status=failed");
 */
export function renderApp(address = "/"): Rendered & { address: () => string } {
  const queryClient = testQueryClient();
  const history = createMemoryHistory({ initialEntries: [address] });
  const router = createAppRouter(queryClient, history);
  const user = userEvent.setup();
  const rendered = render(<App queryClient={queryClient} router={router} />);
  return { user, address: () => router.state.location.href, ...rendered };
}

function testQueryClient(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { retry: false } } });
}
