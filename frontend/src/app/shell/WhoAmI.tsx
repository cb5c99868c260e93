import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { sessionQuery, signOut } from "../../api/session";
import { Button } from "../../ui/forms/Button";

/** The access token that is in use, and the way to put it away; nothing on this machine, where none is needed. */
export function WhoAmI(): ReactElement | null {
  const session = useQuery(sessionQuery);
  const queryClient = useQueryClient();
  const name = session.data?.token_name;
  if (name === undefined || name === null) return null;
  const leave = async (): Promise<void> => {
    await signOut();
    await queryClient.resetQueries();
  };
  return (
    <Button kind="quiet" onClick={() => void leave()} title={`Signed in with the token ${name}`}>
      Sign out
    </Button>
  );
}
