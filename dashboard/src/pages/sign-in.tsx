/** The sign-in page. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import { getErrorMessage } from "../data/errors.ts";
import { send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { Alert } from "../ui/states.tsx";

export function SignInPage({ email: initialEmail = "" }: { email?: string }) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const queryClient = useQueryClient();
  const [location] = useLocation();
  // At a page of an account, its member signs in.
  const account = /^\/(acct_\w+)\//.exec(location)?.[1];
  const signIn = useMutation({
    mutationFn: () =>
      send("/auth/sign-in", { method: "POST", body: { email, password, account_id: account } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
    onError: () => setPassword(""),
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    signIn.mutate();
  }

  return (
    <main className="auth-page">
      <form className="auth-card" onSubmit={submit}>
        <Logo />
        <h1>Sign in</h1>
        <TextField
          label="E-mail address"
          type="email"
          autoComplete="username"
          required
          autoFocus={initialEmail === ""}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        {signIn.error !== null && <Alert>{getErrorMessage(signIn.error)}</Alert>}
        <Button type="submit" variant="primary" loading={signIn.isPending}>
          Sign in
        </Button>
        <p className="hint">
          No account yet? Ask an account owner for an invitation. Forgot your password? Ask the
          operator of this service.
        </p>
      </form>
    </main>
  );
}
