/** The user's password and sessions. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useForm } from "react-hook-form";

import { newPassword } from "../../../../shared/contracts/users.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getJson, send } from "../../data/http.ts";
import { useAccountContext, useSignOut } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, QueryBoundary } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";

type UserSession = {
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
  current: boolean;
};

export function ProfilePage() {
  const { session } = useAccountContext();
  return (
    <Page title="Profile" intro={`${session.user.name}, ${session.user.email}`}>
      <Card title="Password">
        <PasswordForm />
      </Card>
      <Card title="Sessions">
        <Sessions />
      </Card>
    </Page>
  );
}

type Values = { current_password: string; new_password: string; confirmation: string };

const EMPTY: Values = { current_password: "", new_password: "", confirmation: "" };

function PasswordForm() {
  const { session } = useAccountContext();
  const queryClient = useQueryClient();
  const form = useForm<Values>({ mode: "onTouched", defaultValues: EMPTY });
  const { errors } = form.formState;
  const change = useMutation({
    mutationFn: ({ current_password, new_password }: Values) =>
      send("/auth/password", { method: "POST", body: { current_password, new_password } }),
    async onSuccess() {
      form.reset(EMPTY);
      await queryClient.invalidateQueries({ queryKey: ["sessions"] });
      toast("The password has been changed. Your other sessions have been signed out.");
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
        error={errors.current_password?.message}
        {...form.register("current_password", { required: "Required" })}
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        error={errors.new_password?.message}
        {...form.register("new_password", { validate: validateWith(newPassword) })}
      />
      <TextField
        label="Confirm new password"
        type="password"
        autoComplete="new-password"
        error={errors.confirmation?.message}
        {...form.register("confirmation", {
          validate: (confirmation, { new_password }) =>
            confirmation === new_password || "The passwords do not match",
        })}
      />
      {change.error !== null && <Alert>{getErrorMessage(change.error)}</Alert>}
      <div>
        <Button type="submit" variant="primary" loading={change.isPending}>
          Change password
        </Button>
      </div>
    </form>
  );
}

function Sessions() {
  const signOut = useSignOut();
  const sessions = useQuery({
    queryKey: ["sessions"],
    queryFn: async () => (await getJson<{ data: UserSession[] }>("/auth/devices")).data,
  });
  const signOutEverywhere = useMutation({ mutationFn: () => signOut(true) });
  return (
    <QueryBoundary query={sessions} label="sessions" lines={2}>
      {(data) => (
        <>
          <ul className="rows">
            {data.map(({ user_agent, created_at, last_seen_at, current }) => (
              <li key={`${created_at} ${user_agent}`}>
                <span>
                  <strong>{current ? "This browser" : (user_agent ?? "Unknown browser")}</strong>
                  <span className="hint">
                    Signed in {formatDateTime(created_at)}, last active{" "}
                    {formatDateTime(last_seen_at)}
                  </span>
                </span>
              </li>
            ))}
          </ul>
          {signOutEverywhere.error !== null && (
            <Alert>{getErrorMessage(signOutEverywhere.error)}</Alert>
          )}
          <Button
            variant="danger"
            loading={signOutEverywhere.isPending}
            onClick={() => signOutEverywhere.mutate()}
          >
            Sign out everywhere
          </Button>
        </>
      )}
    </QueryBoundary>
  );
}
