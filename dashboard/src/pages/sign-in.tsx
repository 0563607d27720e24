/** The door. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { messageOf } from "../data/errors.ts";
import { send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { Problem } from "../ui/states.tsx";

export function SignInPage({ email: given = "" }: { email?: string }) {
  const [email, setEmail] = useState(given);
  const [password, setPassword] = useState("");
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () => send("/auth/sign-in", { method: "POST", body: { email, password } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
    // Whatever was typed was wrong: it is typed anew.
    onError: () => setPassword(""),
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    signIn.mutate();
  }

  return (
    <main className="door">
      <form className="door-card" onSubmit={submit}>
        <Logo />
        <h1>Sign in</h1>
        <TextField
          label="E-mail address"
          type="email"
          autoComplete="username"
          required
          autoFocus={given === ""}
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
        {signIn.error !== null && <Problem>{messageOf(signIn.error)}</Problem>}
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
        <p className="hint">
          No account yet, or a lost password? Ask whoever runs this service, or an owner of your
          account.
        </p>
      </form>
    </main>
  );
}
