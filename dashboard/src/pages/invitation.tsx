/** The page that an invitation link opens. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useForm } from "react-hook-form";
import { useLocation } from "wouter";

import type { InvitationOffer, Session } from "../../../shared/contracts/user-responses.ts";
import { newPassword, userName } from "../../../shared/contracts/users.ts";
import { getJson, send } from "../data/http.ts";
import { SESSION_KEY, useSignOut } from "../data/session.ts";
import { rich, strong, t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { Form, formField, PasswordField, TextField } from "../ui/field.tsx";
import { AuthCard } from "../ui/page.tsx";
import { ErrorAlert, QueryBoundary, type Task } from "../ui/states.tsx";
import { validateWith } from "../ui/validation.ts";
import { SignInPage } from "./sign-in.tsx";

type Values = { name: string; password: string };

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
    <AuthCard title={t("invitation.title")}>
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
    async mutationFn(values: Values | undefined) {
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
  onSubmit: (values: Values) => void;
};

function NewUserForm({ email, intro, task, onSubmit }: NewUserFormProps) {
  const form = useForm<Values>({ mode: "onTouched", defaultValues: { name: "", password: "" } });
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
