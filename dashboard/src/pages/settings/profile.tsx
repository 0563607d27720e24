/** How the user signs in, their language, and their sessions. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { UserSession } from "../../../../shared/contracts/user-responses.ts";
import { newPassword } from "../../../../shared/contracts/users.ts";
import { getJson, post, send } from "../../data/http.ts";
import { useAccountContext, useSignOut } from "../../data/session.ts";
import { nameOf, setLanguage, t } from "../../languages/translate.ts";
import {
  type Language,
  LANGUAGES,
  matchLanguage,
  preferredLanguage,
  readChoice,
  saveChoice,
} from "../../preferences.ts";
import { Button } from "../../ui/button.tsx";
import { ChoiceField, Form, PasswordField } from "../../ui/field.tsx";
import { formField, required, useFormAction } from "../../ui/form.ts";
import { formatDateTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { useToastError } from "../../ui/toast.tsx";
import { CurrentPasswordField, Passkeys, SecondFactor } from "./sign-in-methods.tsx";

export function ProfilePage() {
  const { session } = useAccountContext();
  return (
    <Page title={t("shell.pages.profile")} intro={`${session.user.name}, ${session.user.email}`}>
      {session.has_password && (
        <>
          <Card title={t("fields.password")}>
            <PasswordForm />
          </Card>
          <Card title={t("settings.secondFactor.title")}>
            <SecondFactor />
          </Card>
          <Card title={t("settings.passkeys.title")}>
            <Passkeys />
          </Card>
        </>
      )}
      <Card title={t("fields.language")}>
        <LanguageField />
      </Card>
      <Card title={t("settings.profile.sessions")}>
        <Sessions />
      </Card>
    </Page>
  );
}

function LanguageField() {
  const [choice, setChoice] = useState(readChoice);
  const toastError = useToastError();
  const ofBrowser = nameOf(matchLanguage(navigator.languages));
  function choose(selected: Language | undefined): void {
    saveChoice(selected);
    setChoice(selected);
    setLanguage(preferredLanguage()).catch(toastError);
  }
  return (
    <div className="stack narrow">
      <ChoiceField
        label={t("settings.profile.displayLanguage")}
        hint={t("settings.profile.languageHint")}
        options={[
          {
            value: undefined,
            label: t("settings.profile.languageOfBrowser", { language: ofBrowser }),
          },
          ...LANGUAGES.map((language) => ({ value: language, label: nameOf(language) })),
        ]}
        value={choice}
        onChoose={choose}
      />
    </div>
  );
}

const NEW_PASSWORD = { current_password: "", new_password: "", confirmation: "" };

function PasswordForm() {
  const { session } = useAccountContext();
  const { form, props } = useFormAction(
    NEW_PASSWORD,
    ({ current_password, new_password }) =>
      post("/auth/password", { current_password, new_password }),
    {
      invalidate: ["sessions"],
      successMessage: t("settings.profile.passwordChanged"),
      onSuccess: () => {
        form.reset(NEW_PASSWORD);
      },
    },
  );
  return (
    <Form action={t("settings.profile.changePassword")} className="stack narrow" {...props}>
      <input type="hidden" autoComplete="username" value={session.user.email} readOnly />
      <CurrentPasswordField {...formField(form, "current_password", required)} />
      <PasswordField
        label={t("settings.profile.newPassword")}
        autoComplete="new-password"
        {...formField(form, "new_password", newPassword)}
      />
      <PasswordField
        label={t("settings.profile.confirmPassword")}
        autoComplete="new-password"
        {...formField(
          form,
          "confirmation",
          (confirmation, { new_password }) =>
            confirmation === new_password || t("settings.profile.mismatch"),
        )}
      />
    </Form>
  );
}

function Sessions() {
  const signOut = useSignOut();
  const sessions = useQuery({
    queryKey: ["sessions"],
    queryFn: async () => (await getJson<{ data: UserSession[] }>("/auth/devices")).data,
  });
  const end = useApiMutation((id: string) => send(`/auth/devices/${id}`, { method: "DELETE" }), {
    invalidate: ["sessions"],
    successMessage: t("settings.profile.ended"),
  });
  return (
    <QueryBoundary query={sessions} label={t("settings.profile.sessions")} lines={2}>
      {(data) => (
        <>
          <ul className="rows">
            {data.map(({ id, created_at, last_seen_at, ...session }) => (
              <li key={id}>
                <span>
                  <strong {...(session.user_agent !== null && { title: session.user_agent })}>
                    {describeBrowser(session)}
                  </strong>{" "}
                  {session.current && (
                    <span className="badge">{t("settings.profile.thisBrowser")}</span>
                  )}
                  <span className="hint">
                    {t("settings.profile.sessionTimes", {
                      signedIn: formatDateTime(created_at),
                      lastActive: formatDateTime(last_seen_at),
                    })}
                  </span>
                </span>
                {!session.current && (
                  <Button
                    variant="quiet"
                    aria-label={t("settings.profile.endOf", { browser: describeBrowser(session) })}
                    onClick={() => end.mutateAsync(id)}
                  >
                    {t("settings.profile.end")}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          <Button variant="danger" onClick={() => signOut(true)}>
            {t("settings.profile.signOutEverywhere")}
          </Button>
        </>
      )}
    </QueryBoundary>
  );
}

/** `Firefox on Linux`, as far as both are known. */
function describeBrowser({
  browser,
  os,
}: Omit<UserSession, "id" | "created_at" | "last_seen_at">): string {
  if (browser === null) return os ?? t("settings.profile.unknownBrowser");
  return os === null ? browser : t("settings.profile.browserOn", { browser, system: os });
}
