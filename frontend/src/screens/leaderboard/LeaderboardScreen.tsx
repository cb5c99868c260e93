import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function LeaderboardScreen(): ReactElement {
  return <Placeholder title="Leaderboard" command="tunix-rt eval leaderboard" />;
}
