/** The pages of people who have forgotten their password: one asks for a link, one uses it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { Link } from "wouter";

import { email as emailRule, newPassword, RESET_MINUTES } from "../../../shared/contracts/users.ts";
import { getJson, send } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { isNotFound } from "../languages/errors.ts";
import { preferredLanguage } from "../languages/preference.ts";
import { t } from "../languages/translate.ts";
import { Form, formField, PasswordField, TextField } from "../ui/field.tsx";
import { AuthCard } from "../ui/page.tsx";
import { Alert, QueryBoundary } from "../ui/states.tsx";
import { validateWith } from "../ui/validation.ts";

const RESETS = "/auth/password-resets";

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
      <Link href="/">{t("forgotten.signIn")}</Link>
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
    <Form
      action={t("forgotten.ask")}
      task={ask}
      onSubmit={form.handleSubmit((values) => ask.mutate(values))}
    >
      <p>{t("forgotten.intro")}</p>
      <TextField
        label={t("signIn.email")}
        type="email"
        autoComplete="username"
        autoFocus
        {...formField(form, "email", { validate: validateWith(emailRule) })}
      />
    </Form>
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
      <Link href="/">{t("forgotten.signIn")}</Link>
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
    <Form
      action={t("forgotten.setAction")}
      task={change}
      onSubmit={form.handleSubmit((values) => change.mutate(values))}
    >
      <TextField label={t("signIn.email")} value={email} readOnly autoComplete="username" />
      <PasswordField
        label={t("settings.profile.newPassword")}
        autoComplete="new-password"
        {...formField(form, "password", { validate: validateWith(newPassword) })}
      />
    </Form>
  );
}
