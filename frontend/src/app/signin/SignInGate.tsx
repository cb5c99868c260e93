import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "../../api/errors";
import { sessionQuery } from "../../api/session";
import { SignIn } from "./SignIn";

/** Shows the app, or the sign-in form if the server requires an access token. */
export function SignInGate({ children }: { children: ReactNode }): ReactNode {
  const { error } = useQuery(sessionQuery);
  return isUnauthorized(error) ? <SignIn /> : children;
}

export function isUnauthorized(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 401;
}
