import { chatRoutes } from "../features/serving/routes";
import { compareRoutes } from "../features/runs/compare/routes";
import { datasetsRoutes } from "../features/datasets/routes";
import { evaluationsRoutes } from "../features/evaluation/routes";
import { evidenceRoutes } from "../features/evidence/routes";
import { gatesRoutes } from "../features/evaluation/gates/routes";
import { homeRoutes } from "../features/system/routes";
import { launchRoutes } from "../features/runs/launch/routes";
import { leaderboardRoutes } from "../features/evaluation/leaderboard/routes";
import { modelsRoutes } from "../features/models/routes";
import { runsRoutes } from "../features/runs/routes";
import { tracesRoutes } from "../features/traces/routes";
import { sweepsRoutes } from "../features/sweeps/routes";

/** Every route of the app, listed by feature. */
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
  ...sweepsRoutes,
  ...modelsRoutes,
  ...chatRoutes,
  ...evidenceRoutes,
] as const;
