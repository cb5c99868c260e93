import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { asFlag, asText, searchParams } from "../../ui/navigation/search";

const evidenceListRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evidence",
  validateSearch: searchParams({ packing: asFlag, run: asText }),
  component: lazyRouteComponent(() => import("./EvidenceListScreen"), "EvidenceListScreen"),
});

const evidenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evidence/$runId",
  component: lazyRouteComponent(() => import("./EvidenceScreen"), "EvidenceScreen"),
});

export const evidenceRoutes = [evidenceListRoute, evidenceRoute] as const;
