/**
 * The pages of links that somebody gets: an invitation, and a link to set a new password; and the
 * page that asks for the latter.
 */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { Link, useLocation } from "wouter";

import type { InvitationOffer, Session } from "../../../shared/contracts/user-responses.ts";
import {
  email as emailRule,
  newPassword,
  RESET_MINUTES,
  userName,
} from "../../../shared/contracts/users.ts";
import { getJson, send } from "../data/http.ts";
import { SESSION_KEY, useSignOut } from "../data/session.ts";
import { isNotFound } from "../languages/errors.ts";
import { preferredLanguage } from "../data/preferences.ts";
import { rich, strong, t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { Form, formField, PasswordField, TextField } from "../ui/field.tsx";
import { AuthCard } from "../ui/page.tsx";
import { Alert, ErrorAlert, QueryBoundary, type Task } from "../ui/states.tsx";
import { validateWith } from "../ui/validation.ts";
import { SignInPage } from "./sign-in.tsx";

type NewUser = { name: string; password: string };

export function InvitationPage({ token, session }: { token: string; session: Session | null }) {
  const path = `/auth/invitations/${encodeURIComponent(token)}`;
  const invitation = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => getJson<InvitationOffer>(path),
  });
  // Existing users sign in to accept.
  if (session === null && invitation.data?.known === true) {
    return <SignInPage email={invitation.data.email} />;
  }
  return (
    <AuthCard title={t("settings.members.invitation")}>
      <QueryBoundary query={invitation} label={t("invitation.loading")} lines={2}>
        {(data) => <AcceptForm path={path} invitation={data} session={session} />}
      </QueryBoundary>
    </AuthCard>
  );
}

type AcceptFormProps = {
  path: string;
  invitation: InvitationOffer;
  session: Session | null;
};

function AcceptForm({ path, invitation, session }: AcceptFormProps) {
  const accept = useAccept(path, invitation.email);
  const intro = (
    <p>
      {rich("invitation.intro", {
        account: invitation.account_name,
        role: t(`settings.members.role.${invitation.role}`),
        strong,
      })}
    </p>
  );
  return session === null ? (
    <NewUserForm
      email={invitation.email}
      intro={intro}
      task={accept}
      onSubmit={(values) => accept.mutate(values)}
    />
  ) : (
    <>
      {intro}
      <ErrorAlert error={accept.error} />
      <SignedInChoice
        email={invitation.email}
        session={session}
        loading={accept.isPending}
        onJoin={() => accept.mutate(undefined)}
      />
    </>
  );
}

/** Accepts an invitation as the signed-in user, or as a new one with these values. */
function useAccept(path: string, email: string) {
  const queryClient = useQueryClient();
  const [, navigate] = useLocation();
  return useMutation({
    async mutationFn(values: NewUser | undefined) {
      const { account_id } = await getJson<{ account_id: string }>(`${path}/accept`, {
        method: "POST",
        body: values ?? {},
      });
      if (values !== undefined) {
        const { password } = values;
        await send("/auth/sign-in", {
          method: "POST",
          body: { email, password },
        });
      }
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
      return account_id;
    },
    onSuccess: (account) => navigate(`/${account}/live/links`, { replace: true }),
  });
}

type SignedInChoiceProps = {
  email: string;
  session: Session;
  loading: boolean;
  onJoin: () => void;
};

function SignedInChoice({ email, session, loading, onJoin }: SignedInChoiceProps) {
  const signOut = useSignOut();
  if (session.user.email === email) {
    return (
      <Button variant="primary" loading={loading} onClick={onJoin}>
        {t("invitation.joinAs", { email: session.user.email })}
      </Button>
    );
  }
  return (
    <>
      <p>{t("invitation.otherUser", { invited: email, email: session.user.email })}</p>
      <Button onClick={() => void signOut()}>{t("shell.signOut")}</Button>
    </>
  );
}

type NewUserFormProps = {
  email: string;
  intro: ReactNode;
  task: Task;
  onSubmit: (values: NewUser) => void;
};

function NewUserForm({ email, intro, task, onSubmit }: NewUserFormProps) {
  const form = useForm<NewUser>({ mode: "onTouched", defaultValues: { name: "", password: "" } });
  return (
    <Form
      action={t("invitation.join")}
      task={task}
      onSubmit={form.handleSubmit((values) => onSubmit(values))}
    >
      {intro}
      <TextField label={t("signIn.email")} value={email} readOnly autoComplete="username" />
      <TextField
        label={t("invitation.name")}
        autoComplete="name"
        {...formField(form, "name", { validate: validateWith(userName) })}
      />
      <PasswordField
        label={t("invitation.password")}
        autoComplete="new-password"
        {...formField(form, "password", { validate: validateWith(newPassword) })}
      />
    </Form>
  );
}

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
