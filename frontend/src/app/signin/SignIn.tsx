import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, type SyntheticEvent, useState } from "react";
import { ApiError } from "../../api/errors";
import { sessionQuery, signIn } from "../../api/session";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { TextField } from "../../ui/forms/TextField";
import { Page } from "../../ui/layout/Page";
import styles from "./SignIn.module.css";

/** Asks for an access token, which the server stores in a cookie. */
export function SignIn(): ReactElement {
  const [token, setToken] = useState("");
  const queryClient = useQueryClient();
  const signingIn = useMutation({ mutationFn: signIn, onSuccess: () => queryClient.resetQueries() });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    signingIn.mutate(token.trim());
  };
  return (
    <main className={styles.main}>
      <Page title="Sign in to Tunix RT">
        <p>
          This server requires an access token. Create one on the server's machine with{" "}
          <code>tunix-rt tokens create NAME --scope write</code>.
        </p>
        <form className={styles.form} onSubmit={submit}>
          <TextField
            label="Access token"
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={setToken}
          />
          <Button kind="primary" type="submit" isBusy={signingIn.isPending} disabled={token.trim() === ""}>
            Sign in
          </Button>
        </form>
        {signingIn.isError ? <ErrorNotice error={signingIn.error} title="Sign-in failed" /> : null}
      </Page>
    </main>
  );
}

/** Shows the app, or the sign-in form if the server requires an access token. */
export function SignInGate({ children }: { children: ReactNode }): ReactNode {
  const { error } = useQuery(sessionQuery);
  return isUnauthorized(error) ? <SignIn /> : children;
}

function isUnauthorized(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 401;
}
