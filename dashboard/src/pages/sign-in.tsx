/** The sign-in page: a password, and a code for those who have a second factor. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { getJson, send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { Form, PasswordField, TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { AuthCard } from "../ui/page.tsx";
import { ErrorAlert } from "../ui/states.tsx";

export function SignInPage({ email: initialEmail = "" }: { email?: string }) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () =>
      getJson<{ needs_code: boolean }>("/auth/sign-in", {
        method: "POST",
        body: { email, password },
      }),
    async onSuccess({ needs_code }) {
      if (needs_code) setNeedsCode(true);
      else await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
    },
    onError: () => setPassword(""),
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    signIn.mutate();
  }

  if (needsCode)
    return (
      <CodeStep
        onBack={() => {
          setPassword("");
          setNeedsCode(false);
        }}
      />
    );
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

/** Asks for the code of an app, or a recovery code. */
function CodeStep({ onBack }: { onBack: () => void }) {
  const [code, setCode] = useState("");
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () => send("/auth/sign-in/code", { method: "POST", body: { code } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
    onError: () => setCode(""),
  });
  return (
    <AuthCard title={t("signIn.codeTitle")}>
      <Form action={t("signIn.title")} task={signIn} onSubmit={() => signIn.mutate()}>
        <TextField
          label={t("signIn.code")}
          hint={t("signIn.codeHint")}
          autoComplete="one-time-code"
          spellCheck={false}
          autoFocus
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </Form>
      <Button variant="quiet" onClick={onBack}>
        {t("signIn.startAgain")}
      </Button>
    </AuthCard>
  );
}
