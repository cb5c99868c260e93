import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const evidenceListRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evidence",
  component: lazyRouteComponent(() => import("./EvidenceListScreen"), "EvidenceListScreen"),
});

const evidenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evidence/$runId",
  component: lazyRouteComponent(() => import("./EvidenceScreen"), "EvidenceScreen"),
});

export const evidenceRoutes = [evidenceListRoute, evidenceRoute] as const;
