/** The sign-in page: the provider, a passkey, or a password, and a code for those who need one. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import type { SignInMethods } from "../../../shared/contracts/user-responses.ts";
import { getJson, send } from "../data/http.ts";
import { choosePasskey, hasPasskeys } from "../data/passkeys.ts";
import { SESSION_KEY } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { Button } from "../ui/button.tsx";
import { Form, PasswordField, TextField } from "../ui/field.tsx";
import { AuthCard } from "../ui/page.tsx";
import { Alert, ErrorAlert } from "../ui/states.tsx";

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

export function SignInPage({ email = "" }: { email?: string }) {
  const [needsCode, setNeedsCode] = useState(false);
  const [wantsPassword, setWantsPassword] = useState(false);
  const methods = useQuery({
    queryKey: ["sign-in methods"],
    staleTime: Infinity,
    queryFn: () => getJson<SignInMethods>("/auth/methods"),
  });
  if (needsCode) return <CodeStep onBack={() => setNeedsCode(false)} />;
  const provider = methods.data?.provider ?? null;
  const hidesPassword = methods.data?.provider_only === true && !wantsPassword;
  return (
    <AuthCard title={t("signIn.title")}>
      {provider !== null && <ProviderButton name={provider} />}
      {hidesPassword ? (
        <Button variant="quiet" onClick={() => setWantsPassword(true)}>
          {t("signIn.withPassword")}
        </Button>
      ) : (
        <>
          <PasswordStep email={email} onCode={() => setNeedsCode(true)} />
          {hasPasskeys() && <PasskeyButton />}
        </>
      )}
    </AuthCard>
  );
}

/** Leads to the provider, and says why it has led back. */
function ProviderButton({ name }: { name: string }) {
  const reason = new URLSearchParams(location.search).get("sign-in");
  const refusal = REFUSALS.find((known) => known === reason);
  const begin = useMutation({
    mutationFn: () => getJson<{ url: string }>("/auth/oidc", { method: "POST" }),
    onSuccess: ({ url }) => location.assign(url),
  });
  return (
    <>
      {refusal !== undefined && <Alert>{t(`signIn.refused.${refusal}`)}</Alert>}
      <ErrorAlert error={begin.error} />
      <Button variant="primary" loading={begin.isPending} onClick={() => begin.mutate()}>
        {t("signIn.withProvider", { name })}
      </Button>
    </>
  );
}

function PasswordStep({ email: initialEmail, onCode }: { email: string; onCode: () => void }) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () =>
      getJson<{ needs_code: boolean }>("/auth/sign-in", {
        method: "POST",
        body: { email, password },
      }),
    async onSuccess({ needs_code }) {
      if (needs_code) onCode();
      else await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
    },
    onError: () => setPassword(""),
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    signIn.mutate();
  }

  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label={t("signIn.email")}
        type="email"
        autoComplete="username"
        required
        autoFocus={initialEmail === ""}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <PasswordField
        label={t("fields.password")}
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <ErrorAlert error={signIn.error} />
      <Button type="submit" variant="primary" loading={signIn.isPending}>
        {t("signIn.title")}
      </Button>
      <Link href="/forgot-password">{t("signIn.forgotten")}</Link>
      <p className="hint">{t("signIn.hint")}</p>
    </form>
  );
}

function PasskeyButton() {
  const queryClient = useQueryClient();
  const signIn = useMutation({
    async mutationFn() {
      const options = await getJson<PublicKeyCredentialRequestOptionsJSON>(
        "/auth/passkeys/challenge",
        { method: "POST" },
      );
      const response = await choosePasskey(options);
      if (response === undefined) return;
      await send("/auth/passkeys/sign-in", { method: "POST", body: { response } });
      await queryClient.invalidateQueries({ queryKey: SESSION_KEY });
    },
  });
  return (
    <>
      <ErrorAlert error={signIn.error} />
      <Button loading={signIn.isPending} onClick={() => signIn.mutate()}>
        {t("signIn.withPasskey")}
      </Button>
    </>
  );
}

/** Asks for the code of an app, or a recovery code. */
function CodeStep({ onBack }: { onBack: () => void }) {
  const [code, setCode] = useState("");
  const queryClient = useQueryClient();
  const signIn = useMutation({
    mutationFn: () => send("/auth/sign-in/code", { method: "POST", body: { code } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
    onError: () => setCode(""),
  });
  return (
    <AuthCard title={t("signIn.codeTitle")}>
      <Form action={t("signIn.title")} task={signIn} onSubmit={() => signIn.mutate()}>
        <TextField
          label={t("signIn.code")}
          hint={t("signIn.codeHint")}
          autoComplete="one-time-code"
          spellCheck={false}
          autoFocus
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </Form>
      <Button variant="quiet" onClick={onBack}>
        {t("signIn.startAgain")}
      </Button>
    </AuthCard>
  );
}
