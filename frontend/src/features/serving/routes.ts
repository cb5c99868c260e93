import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { chatSearch } from "./search";

const chatRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/chat",
  validateSearch: chatSearch,
  component: lazyRouteComponent(() => import("./ChatScreen"), "ChatScreen"),
});

export const chatRoutes = [chatRoute] as const;
