/**
 * The pages of links that somebody gets: an invitation, and a link to set a new password; and the
 * page that asks for the latter.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";

import type { InvitationOffer, Session } from "../../../shared/contracts/user-responses.ts";
import {
  email as emailRule,
  newPassword,
  RESET_MINUTES,
  userName,
} from "../../../shared/contracts/users.ts";
import { getJson, post } from "../data/http.ts";
import { SESSION_KEY } from "../data/session.ts";
import { isNotFound } from "../languages/errors.ts";
import { rich, strong, t } from "../languages/translate.ts";
import { preferredLanguage } from "../preferences.ts";
import { Button, SignOutButton } from "../ui/button.tsx";
import { Form, PasswordField, TextField } from "../ui/field.tsx";
import { formField, useFormAction } from "../ui/form.ts";
import { AuthCard } from "../ui/page.tsx";
import { Alert, QueryBoundary } from "../ui/states.tsx";
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
      <QueryBoundary query={invitation} label={t("settings.members.invitation")} lines={2}>
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
    <NewUserForm email={invitation.email} intro={intro} accept={accept} />
  ) : (
    <>
      {intro}
      <SignedInChoice email={invitation.email} session={session} accept={accept} />
    </>
  );
}

type Accept = (newUser?: NewUser) => Promise<void>;

/** Accepts an invitation as the signed-in user, or as a new one with these values. */
function useAccept(path: string, email: string): Accept {
  const queryClient = useQueryClient();
  const [, navigate] = useLocation();
  return async (newUser) => {
    const { account_id } = await post<{ account_id: string }>(`${path}/accept`, newUser ?? {});
    // Who cannot be signed in now does that on the page of the account: the invitation is used up.
    if (newUser !== undefined)
      await post("/auth/sign-in", { email, password: newUser.password }).catch(() => undefined);
    await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
    navigate(`/${account_id}/live/links`, { replace: true });
  };
}

type SignedInChoiceProps = { email: string; session: Session; accept: Accept };

function SignedInChoice({ email, session, accept }: SignedInChoiceProps) {
  if (session.user.email === email) {
    return (
      <Button variant="primary" onClick={() => accept()}>
        {t("invitation.joinAs", { email })}
      </Button>
    );
  }
  return (
    <>
      <p>{t("invitation.otherUser", { invited: email, email: session.user.email })}</p>
      <SignOutButton />
    </>
  );
}

type NewUserFormProps = { email: string; intro: ReactNode; accept: Accept };

function NewUserForm({ email, intro, accept }: NewUserFormProps) {
  const { form, props } = useFormAction({ name: "", password: "" }, accept);
  return (
    <Form action={t("invitation.join")} {...props}>
      {intro}
      <TextField label={t("signIn.email")} value={email} readOnly autoComplete="username" />
      <TextField
        label={t("invitation.name")}
        autoComplete="name"
        {...formField(form, "name", userName)}
      />
      <PasswordField
        label={t("invitation.password")}
        autoComplete="new-password"
        {...formField(form, "password", newPassword)}
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
  const { form, action, props } = useFormAction({ email: "" }, ({ email }) =>
    post(RESETS, { email, language: preferredLanguage() }),
  );
  if (action.isSuccess)
    return <p role="status">{t("forgotten.sent", { minutes: RESET_MINUTES })}</p>;
  return (
    <Form action={t("forgotten.ask")} {...props}>
      <p>{t("forgotten.intro")}</p>
      <TextField
        label={t("signIn.email")}
        type="email"
        autoComplete="username"
        autoFocus
        {...formField(form, "email", emailRule)}
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
  const { form, props } = useFormAction({ password: "" }, async (body) => {
    await post(path, body);
    onDone();
    // Every session of the user has ended, perhaps the one of this browser.
    await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
  });
  return (
    <Form action={t("forgotten.setAction")} {...props}>
      <TextField label={t("signIn.email")} value={email} readOnly autoComplete="username" />
      <PasswordField
        label={t("settings.profile.newPassword")}
        autoComplete="new-password"
        {...formField(form, "password", newPassword)}
      />
    </Form>
  );
}
