/** The sign-in: the provider, a passkey, or a password, and a code for those who need one. */
import { useQuery } from "@tanstack/react-query";
import { type ChangeEvent, type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";

import type { SignInMethods } from "../../../shared/contracts/user-responses.ts";
import { getJson, post } from "../data/http.ts";
import { choosePasskey, hasPasskeys } from "../data/passkeys.ts";
import { SESSION_KEY } from "../data/session.ts";
import { isSignedOut } from "../languages/errors.ts";
import { t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form, PasswordField, TextField } from "../ui/field.tsx";
import { AuthCard } from "../ui/page.tsx";
import { Alert, ErrorAlert, useApiMutation } from "../ui/states.tsx";

/** Why the provider's word was not enough. */
const REFUSALS = [
  "access_denied",
  "break_glass",
  "email_not_verified",
  "failed",
  "last_owner",
  "no_role",
  "not_linked",
] as const;

type SignInProps = {
  email?: string;
  /** Covers the page whose session has ended, and keeps what was typed there. */
  covers?: boolean;
};

export function SignInPage({ email = "", covers = false }: SignInProps) {
  const [needsCode, setNeedsCode] = useState(false);
  const [wantsPassword, setWantsPassword] = useState(false);
  const methods = useQuery({
    queryKey: ["sign-in methods"],
    staleTime: Infinity,
    queryFn: () => getJson<SignInMethods>("/auth/methods"),
  });
  if (needsCode) return <CodeStep onBack={() => setNeedsCode(false)} covers={covers} />;
  const provider = methods.data?.provider ?? null;
  const hidesPassword = methods.data?.provider_only === true && !wantsPassword;
  return (
    <Frame title={t("signIn.title")} covers={covers}>
      {provider !== null && <ProviderButton name={provider} covers={covers} />}
      {hidesPassword ? (
        <Button variant="quiet" onClick={() => setWantsPassword(true)}>
          {t("signIn.withPassword")}
        </Button>
      ) : (
        <>
          <PasswordStep email={email} onCode={() => setNeedsCode(true)} covers={covers} />
          {hasPasskeys() && <PasskeyButton />}
        </>
      )}
    </Frame>
  );
}

type Covering = { covers: boolean };

type FrameProps = Covering & { title: string; children: ReactNode };

const Frame = ({ title, covers, children }: FrameProps) =>
  covers ? (
    <Dialog title={title} onClose={() => undefined} locked covers>
      <div className="stack">
        <p role="status">{t("signIn.ended")}</p>
        {children}
      </div>
    </Dialog>
  ) : (
    <AuthCard title={title}>{children}</AuthCard>
  );

/** Leads to the provider, from a cover in another tab, and says why it has led back. */
function ProviderButton({ name, covers }: { name: string } & Covering) {
  const reason = new URLSearchParams(location.search).get("sign-in");
  const refusal = REFUSALS.find((known) => known === reason);
  const begin = useApiMutation(async (tab: Window | null) => {
    try {
      const { url } = await post<{ url: string }>("/auth/oidc");
      (tab ?? window).location.assign(url);
    } catch (error) {
      tab?.close();
      throw error;
    }
  });
  return (
    <>
      {refusal !== undefined && <Alert>{t(`signIn.refused.${refusal}`)}</Alert>}
      <ErrorAlert error={begin.error} />
      <Button
        variant="primary"
        loading={begin.isPending}
        // Browsers refuse a tab that is opened only once a response is there.
        onClick={() => begin.mutate(covers ? window.open() : null)}
      >
        {t("signIn.withProvider", { name })}
      </Button>
    </>
  );
}

type PasswordStepProps = Covering & { email: string; onCode: () => void };

function PasswordStep({ email, onCode, covers }: PasswordStepProps) {
  const { values, field, clear, submit } = useNeededFields({ email, password: "" });
  const signIn = useApiMutation(() => post<{ needs_code: boolean }>("/auth/sign-in", values), {
    invalidate: SESSION_KEY,
    onSuccess: ({ needs_code }) => needs_code && onCode(),
    onError: (error) => isSignedOut(error) && clear("password"),
  });
  return (
    <>
      <Form action={t("signIn.title")} task={signIn} onSubmit={submit(() => signIn.mutate())}>
        <TextField
          label={t("signIn.email")}
          type="email"
          autoComplete="username"
          autoFocus={email === ""}
          {...field("email")}
        />
        <PasswordField
          label={t("fields.password")}
          autoComplete="current-password"
          {...field("password")}
        />
      </Form>
      {covers ? (
        <a href="/forgot-password" target="_blank">
          {t("signIn.forgotten")}
        </a>
      ) : (
        <Link href="/forgot-password">{t("signIn.forgotten")}</Link>
      )}
      <p className="hint">{t("signIn.hint")}</p>
    </>
  );
}

/**
 * Text fields that must not be empty, as those of `ui/form.ts`: the page that everybody sees first
 * does without the library of forms.
 */
function useNeededFields<Name extends string>(initial: Record<Name, string>) {
  const [values, setValues] = useState(initial);
  const [wasTried, setWasTried] = useState(false);
  const change = (name: Name, text: string) => setValues((before) => ({ ...before, [name]: text }));
  return {
    values,
    field: (name: Name) => ({
      value: values[name],
      error: wasTried && values[name] === "" ? t("ui.required") : undefined,
      "aria-required": true,
      onChange: (event: ChangeEvent<HTMLInputElement>) => change(name, event.target.value),
    }),
    /** Empties a field that was wrong. */
    clear(name: Name): void {
      setWasTried(false);
      change(name, "");
    },
    submit: (action: () => void) => (event: FormEvent<HTMLFormElement>) => {
      setWasTried(true);
      const inputs = [...event.currentTarget.querySelectorAll("input")];
      const empty = inputs.find(({ value }) => value === "");
      if (empty === undefined) action();
      else empty.focus();
    },
  };
}

function PasskeyButton() {
  const signIn = useApiMutation(signInByPasskey, { invalidate: SESSION_KEY });
  return (
    <>
      <ErrorAlert error={signIn.error} />
      <Button loading={signIn.isPending} onClick={() => signIn.mutate()}>
        {t("signIn.withPasskey")}
      </Button>
    </>
  );
}

async function signInByPasskey(): Promise<void> {
  const options = await post<PublicKeyCredentialRequestOptionsJSON>("/auth/passkeys/challenge");
  const response = await choosePasskey(options);
  if (response === undefined) return;
  await post("/auth/passkeys/sign-in", { response });
}

/** Asks for the code of an app, or a recovery code. */
function CodeStep({ onBack, covers }: { onBack: () => void } & Covering) {
  const { values, field, clear, submit } = useNeededFields({ code: "" });
  const signIn = useApiMutation(() => post("/auth/sign-in/code", values), {
    invalidate: SESSION_KEY,
    onError: (error) => isSignedOut(error) && clear("code"),
  });
  return (
    <Frame title={t("signIn.codeTitle")} covers={covers}>
      <Form action={t("signIn.title")} task={signIn} onSubmit={submit(() => signIn.mutate())}>
        <TextField
          label={t("signIn.code")}
          hint={t("signIn.codeHint")}
          autoComplete="one-time-code"
          spellCheck={false}
          autoFocus
          {...field("code")}
        />
      </Form>
      <Button variant="quiet" onClick={onBack}>
        {t("signIn.startAgain")}
      </Button>
    </Frame>
  );
}
