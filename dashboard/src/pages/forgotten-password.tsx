/** The pages of people who have forgotten their password: one asks for a link, one uses it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { Link } from "wouter";

import { email as emailRule, newPassword, RESET_MINUTES } from "../../../shared/contracts/users.ts";
import { getJson, send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { getErrorMessage, isNotFound } from "../languages/errors.ts";
import { preferredLanguage } from "../languages/preference.ts";
import { t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { PasswordField, TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { Alert, QueryBoundary } from "../ui/states.tsx";
import { validateWith } from "../ui/validation.ts";

const RESETS = "/auth/password-resets";

const AuthCard = ({ title, children }: { title: string; children: ReactNode }) => (
  <main className="auth-page">
    <div className="auth-card">
      <Logo />
      <h1>{title}</h1>
      {children}
      <Link href="/">{t("forgotten.signIn")}</Link>
    </div>
  </main>
);

export function ForgotPasswordPage() {
  const options = useQuery({
    queryKey: ["password resets"],
    queryFn: () => getJson<{ by_mail: boolean }>(RESETS),
  });
  return (
    <AuthCard title={t("forgotten.title")}>
      <QueryBoundary query={options} label={t("forgotten.loading")} lines={2}>
        {({ by_mail }) => (by_mail ? <MailForm /> : <p>{t("forgotten.noMail")}</p>)}
      </QueryBoundary>
    </AuthCard>
  );
}

function MailForm() {
  const form = useForm({ mode: "onTouched", defaultValues: { email: "" } });
  const ask = useMutation({
    mutationFn: ({ email }: { email: string }) =>
      send(RESETS, { method: "POST", body: { email, language: preferredLanguage() } }),
  });
  if (ask.isSuccess) return <p role="status">{t("forgotten.sent", { minutes: RESET_MINUTES })}</p>;
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => void form.handleSubmit((values) => ask.mutate(values))(event)}
    >
      <p>{t("forgotten.intro")}</p>
      <TextField
        label={t("signIn.email")}
        type="email"
        autoComplete="username"
        autoFocus
        error={form.formState.errors.email?.message}
        {...form.register("email", { validate: validateWith(emailRule) })}
      />
      {ask.error !== null && <Alert>{getErrorMessage(ask.error)}</Alert>}
      <Button type="submit" variant="primary" loading={ask.isPending}>
        {t("forgotten.ask")}
      </Button>
    </form>
  );
}

export function ResetPasswordPage({ token }: { token: string }) {
  const path = `${RESETS}/${encodeURIComponent(token)}`;
  const [isSet, setIsSet] = useState(false);
  const user = useQuery({
    queryKey: ["password reset", token],
    queryFn: () => getJson<{ email: string }>(path),
    enabled: !isSet,
    // The link is used up by this page itself.
    refetchOnWindowFocus: false,
  });
  return (
    <AuthCard title={t("forgotten.setTitle")}>
      {isSet && <p role="status">{t("forgotten.set")}</p>}
      {!isSet && isNotFound(user.error) && (
        <>
          <Alert>{t("forgotten.gone")}</Alert>
          <Link href="/forgot-password">{t("forgotten.another")}</Link>
        </>
      )}
      {!isSet && !isNotFound(user.error) && (
        <QueryBoundary query={user} label={t("forgotten.loading")} lines={2}>
          {({ email }) => (
            <NewPasswordForm path={path} email={email} onDone={() => setIsSet(true)} />
          )}
        </QueryBoundary>
      )}
    </AuthCard>
  );
}

type NewPasswordFormProps = { path: string; email: string; onDone: () => void };

function NewPasswordForm({ path, email, onDone }: NewPasswordFormProps) {
  const queryClient = useQueryClient();
  const form = useForm({ mode: "onTouched", defaultValues: { password: "" } });
  const change = useMutation({
    mutationFn: (body: { password: string }) => send(path, { method: "POST", body }),
    async onSuccess() {
      onDone();
      // Every session of the user has ended, perhaps the one of this browser.
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
    },
  });
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => void form.handleSubmit((values) => change.mutate(values))(event)}
    >
      <TextField label={t("signIn.email")} value={email} readOnly autoComplete="username" />
      <PasswordField
        label={t("settings.profile.newPassword")}
        autoComplete="new-password"
        error={form.formState.errors.password?.message}
        {...form.register("password", { validate: validateWith(newPassword) })}
      />
      {change.error !== null && <Alert>{getErrorMessage(change.error)}</Alert>}
      <Button type="submit" variant="primary" loading={change.isPending}>
        {t("forgotten.setAction")}
      </Button>
    </form>
  );
}
