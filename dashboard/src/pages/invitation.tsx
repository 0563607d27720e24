/** What the link of an invitation opens. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useForm } from "react-hook-form";
import { useLocation } from "wouter";

import { newPassword, personName, type Role } from "../../../shared/contracts/people.ts";
import { messageOf } from "../data/errors.ts";
import { ask, send } from "../data/http.ts";
import { type Session, SESSION_KEY, useSignOut } from "../data/session.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Logo } from "../ui/logo.tsx";
import { Problem, Show } from "../ui/states.tsx";
import { problemOf } from "../ui/validation.ts";
import { SignInPage } from "./sign-in.tsx";

type Offer = { account_name: string; email: string; role: Role; known: boolean };
type Values = { name: string; password: string };

export function InvitationPage({ token, session }: { token: string; session: Session | null }) {
  const path = `/auth/invitations/${encodeURIComponent(token)}`;
  const offer = useQuery({ queryKey: ["invitation", token], queryFn: () => ask<Offer>(path) });
  // Somebody who is known accepts as themselves.
  if (offer.data?.known === true && session === null) {
    return <SignInPage email={offer.data.email} />;
  }
  return (
    <main className="door">
      <div className="door-card">
        <Logo />
        <h1>Invitation</h1>
        <Show query={offer} what="the invitation" lines={2}>
          {(data) => <Accept path={path} offer={data} session={session} />}
        </Show>
      </div>
    </main>
  );
}

function Accept({ path, offer, session }: { path: string; offer: Offer; session: Session | null }) {
  const queryClient = useQueryClient();
  const signOut = useSignOut();
  const [, navigate] = useLocation();
  const form = useForm<Values>({ mode: "onTouched", defaultValues: { name: "", password: "" } });
  const { errors } = form.formState;
  const accept = useMutation({
    async mutationFn(values: Values | undefined) {
      const { account_id } = await ask<{ account_id: string }>(`${path}/accept`, {
        method: "POST",
        body: values ?? {},
      });
      if (values !== undefined) {
        const { password } = values;
        await send("/auth/sign-in", { method: "POST", body: { email: offer.email, password } });
      }
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
      return account_id;
    },
    onSuccess: (account) => navigate(`/${account}/live/links`, { replace: true }),
  });
  const intro = (
    <p>
      You are invited to <strong>{offer.account_name}</strong> as {offer.role}.
    </p>
  );
  const problem = accept.error !== null && <Problem>{messageOf(accept.error)}</Problem>;

  if (session !== null) {
    const isTheirs = session.user.email === offer.email;
    return (
      <>
        {intro}
        {problem}
        {isTheirs ? (
          <Button look="primary" busy={accept.isPending} onClick={() => accept.mutate(undefined)}>
            Join as {session.user.email}
          </Button>
        ) : (
          <>
            <p>
              It is for {offer.email}, and you have signed in as {session.user.email}.
            </p>
            <Button onClick={() => void signOut()}>Sign out</Button>
          </>
        )}
      </>
    );
  }
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => void form.handleSubmit((values) => accept.mutate(values))(event)}
    >
      {intro}
      <TextField label="E-mail address" value={offer.email} readOnly autoComplete="username" />
      <TextField
        label="Your name"
        autoComplete="name"
        problem={errors.name?.message}
        {...form.register("name", { validate: problemOf(personName) })}
      />
      <TextField
        label="Choose a password"
        type="password"
        autoComplete="new-password"
        problem={errors.password?.message}
        {...form.register("password", { validate: problemOf(newPassword) })}
      />
      {problem}
      <Button type="submit" look="primary" busy={accept.isPending}>
        Join
      </Button>
    </form>
  );
}
