import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { sessionQuery, signOut } from "../../api/session";
import { Button } from "../../ui/forms/Button";

/** A sign-out button, shown when an access token is in use. */
export function SignOutButton(): ReactElement | null {
  const session = useQuery(sessionQuery);
  const queryClient = useQueryClient();
  const name = session.data?.token_name;
  if (name === undefined || name === null) return null;
  const onSignOut = async (): Promise<void> => {
    await signOut();
    await queryClient.resetQueries();
  };
  return (
    <Button kind="quiet" onClick={() => void onSignOut()} title={`Signed in with the token ${name}`}>
      Sign out
    </Button>
  );
}
