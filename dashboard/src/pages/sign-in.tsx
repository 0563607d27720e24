/** The sign-in page. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { ErrorAlert } from "../ui/states.tsx";

export function SignInPage({ email: initialEmail = "" }: { email?: string }) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () => send("/auth/sign-in", { method: "POST", body: { email, password } }),
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
        <h1>{t("signIn.title")}</h1>
        <TextField
          label={t("signIn.email")}
          type="email"
          autoComplete="username"
          required
          autoFocus={initialEmail === ""}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          label={t("signIn.password")}
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <ErrorAlert error={signIn.error} />
        <Button type="submit" variant="primary" loading={signIn.isPending}>
          {t("signIn.title")}
        </Button>
        <Link href="/forgot-password">{t("signIn.forgotten")}</Link>
        <p className="hint">{t("signIn.hint")}</p>
      </form>
    </main>
  );
}
