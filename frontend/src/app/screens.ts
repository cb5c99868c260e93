import { chatRoutes } from "../screens/chat/routes";
import { compareRoutes } from "../screens/compare/routes";
import { datasetsRoutes } from "../screens/datasets/routes";
import { evaluationsRoutes } from "../screens/evaluations/routes";
import { evidenceRoutes } from "../screens/evidence/routes";
import { gatesRoutes } from "../screens/gates/routes";
import { homeRoutes } from "../screens/home/routes";
import { launchRoutes } from "../screens/launch/routes";
import { leaderboardRoutes } from "../screens/leaderboard/routes";
import { modelsRoutes } from "../screens/models/routes";
import { runsRoutes } from "../screens/runs/routes";
import { tracesRoutes } from "../screens/traces/routes";
import { tuningRoutes } from "../screens/tuning/routes";

/** Every screen of the app; a screen lists its own routes. */
export const SCREEN_ROUTES = [
  ...homeRoutes,
  ...tracesRoutes,
  ...datasetsRoutes,
  ...launchRoutes,
  ...runsRoutes,
  ...compareRoutes,
  ...evaluationsRoutes,
  ...leaderboardRoutes,
  ...gatesRoutes,
  ...tuningRoutes,
  ...modelsRoutes,
  ...chatRoutes,
  ...evidenceRoutes,
] as const;
