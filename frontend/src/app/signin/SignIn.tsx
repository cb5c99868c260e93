import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, type SyntheticEvent, useState } from "react";
import { signIn } from "../../api/session";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { TextField } from "../../ui/forms/TextField";
import { Page } from "../../ui/Page";
import styles from "./SignIn.module.css";

/** Asks for an access token; the server keeps it in a cookie. */
export function SignIn(): ReactElement {
  const [token, setToken] = useState("");
  const queryClient = useQueryClient();
  const entering = useMutation({ mutationFn: signIn, onSuccess: () => queryClient.resetQueries() });
  const enter = (event: SyntheticEvent): void => {
    event.preventDefault();
    entering.mutate(token.trim());
  };
  return (
    <main className={styles.main}>
      <Page title="Sign in to Tunix RT">
        <p>
          This server wants an access token. On the machine where it runs, make one with{" "}
          <code>tunix-rt tokens create NAME --scope write</code>.
        </p>
        <form className={styles.form} onSubmit={enter}>
          <TextField
            label="Access token"
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={setToken}
          />
          <Button kind="primary" type="submit" isBusy={entering.isPending} disabled={token.trim() === ""}>
            Sign in
          </Button>
        </form>
        {entering.isError ? <ErrorNotice error={entering.error} title="The token was not taken" /> : null}
      </Page>
    </main>
  );
}
