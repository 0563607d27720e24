/** One's own password and sessions. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useForm } from "react-hook-form";

import { newPassword } from "../../../../shared/contracts/people.ts";
import { messageOf } from "../../data/errors.ts";
import { ask, send } from "../../data/http.ts";
import { useHere, useSignOut } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { moment } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Problem, Show } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { problemOf } from "../../ui/validation.ts";

type Device = {
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
  current: boolean;
};

export function ProfilePage() {
  const { session } = useHere();
  return (
    <Page title="Profile" intro={`${session.user.name}, ${session.user.email}`}>
      <Card title="Password">
        <PasswordForm />
      </Card>
      <Card title="Where you are signed in">
        <Devices />
      </Card>
    </Page>
  );
}

type Values = { current_password: string; new_password: string; again: string };

const EMPTY: Values = { current_password: "", new_password: "", again: "" };

function PasswordForm() {
  const { session } = useHere();
  const queryClient = useQueryClient();
  const form = useForm<Values>({ mode: "onTouched", defaultValues: EMPTY });
  const { errors } = form.formState;
  const change = useMutation({
    mutationFn: ({ current_password, new_password }: Values) =>
      send("/auth/password", { method: "POST", body: { current_password, new_password } }),
    async onSuccess() {
      form.reset(EMPTY);
      await queryClient.invalidateQueries({ queryKey: ["devices"] });
      toast("The password has been changed; you are signed out everywhere else.");
    },
  });
  return (
    <form
      className="stack narrow"
      noValidate
      onSubmit={(event) => void form.handleSubmit((values) => change.mutate(values))(event)}
    >
      <input type="hidden" autoComplete="username" value={session.user.email} readOnly />
      <TextField
        label="Current password"
        type="password"
        autoComplete="current-password"
        problem={errors.current_password?.message}
        {...form.register("current_password", { required: "Required" })}
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        problem={errors.new_password?.message}
        {...form.register("new_password", { validate: problemOf(newPassword) })}
      />
      <TextField
        label="New password again"
        type="password"
        autoComplete="new-password"
        problem={errors.again?.message}
        {...form.register("again", {
          validate: (again, { new_password }) => again === new_password || "Is not the same",
        })}
      />
      {change.error !== null && <Problem>{messageOf(change.error)}</Problem>}
      <div>
        <Button type="submit" look="primary" busy={change.isPending}>
          Change password
        </Button>
      </div>
    </form>
  );
}

function Devices() {
  const signOut = useSignOut();
  const devices = useQuery({
    queryKey: ["devices"],
    queryFn: async () => (await ask<{ data: Device[] }>("/auth/devices")).data,
  });
  const everywhere = useMutation({ mutationFn: () => signOut(true) });
  return (
    <Show query={devices} what="sessions" lines={2}>
      {(data) => (
        <>
          <ul className="rows">
            {data.map(({ user_agent, created_at, last_seen_at, current }) => (
              <li key={`${created_at} ${user_agent}`}>
                <span>
                  <strong>{current ? "This browser" : (user_agent ?? "Unknown browser")}</strong>
                  <span className="hint">
                    Signed in {moment(created_at)}, seen {moment(last_seen_at)}
                  </span>
                </span>
              </li>
            ))}
          </ul>
          {everywhere.error !== null && <Problem>{messageOf(everywhere.error)}</Problem>}
          <Button look="danger" busy={everywhere.isPending} onClick={() => everywhere.mutate()}>
            Sign out everywhere
          </Button>
        </>
      )}
    </Show>
  );
}
