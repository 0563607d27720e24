/** How the user signs in beside a password: a second factor, with its codes, and passkeys. */
import { useQuery } from "@tanstack/react-query";
import { useForm } from "react-hook-form";

import type {
  Enrolment,
  Passkey,
  SecondFactorState,
} from "../../../../shared/contracts/user-responses.ts";
import { appCode, userName } from "../../../../shared/contracts/users.ts";
import { getJson, send } from "../../data/http.ts";
import { hasPasskeys, makePasskey } from "../../data/passkeys.ts";
import { SESSION_KEY, useSignOut } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog, Secret, SecretDialog } from "../../ui/dialog.tsx";
import { formField, PasswordField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { AuthCard } from "../../ui/page.tsx";
import { QueryBoundary, type Task, useApiMutation } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";

const FACTOR = "/auth/second-factor";

/** What setting it up or removing it affects. */
const FACTOR_QUERIES = ["second-factor", "sessions", ...SESSION_KEY];

export function SecondFactor() {
  const state = useQuery({
    queryKey: ["second-factor"],
    queryFn: () => getJson<SecondFactorState>(FACTOR),
  });
  return (
    <QueryBoundary query={state} label={t("settings.secondFactor.loading")} lines={1}>
      {({ enabled, recovery_codes_left }) => (
        <div className="stack">
          <p>
            {enabled
              ? t("settings.secondFactor.on", { count: recovery_codes_left })
              : t("settings.secondFactor.off")}
          </p>
          <div className="actions">
            {enabled ? (
              <>
                <Button opens={(close) => <NewCodesDialog onClose={close} />}>
                  {t("settings.secondFactor.newCodes")}
                </Button>
                <Button variant="danger" opens={(close) => <RemoveFactorDialog onClose={close} />}>
                  {t("settings.secondFactor.remove")}
                </Button>
              </>
            ) : (
              <Button opens={(close) => <SetUpDialog onClose={close} />}>
                {t("settings.secondFactor.setUp")}
              </Button>
            )}
          </div>
        </div>
      )}
    </QueryBoundary>
  );
}

/** In place of an account in which the user's role needs a second factor. */
export function NeededFactorPage({ account }: { account: string }) {
  const signOut = useSignOut();
  return (
    <AuthCard title={t("settings.secondFactor.title")}>
      <p>{t("settings.secondFactor.needed", { account })}</p>
      <SecondFactor />
      <Button variant="quiet" onClick={() => void signOut().catch(toastError)}>
        {t("shell.signOut")}
      </Button>
    </AuthCard>
  );
}

type Closing = { onClose: () => void };

function SetUpDialog({ onClose }: Closing) {
  const begin = useApiMutation(
    (password: string) => getJson<Enrolment>(FACTOR, { method: "POST", body: { password } }),
    { invalidate: [] },
  );
  if (begin.data !== undefined) return <ConfirmationDialog {...begin.data} onClose={onClose} />;
  return (
    <PasswordDialog
      title={t("settings.secondFactor.setUp")}
      action={t("settings.secondFactor.next")}
      task={begin}
      onPassword={begin.mutate}
      onClose={onClose}
    />
  );
}

function ConfirmationDialog({ uri, qr, recovery_codes, onClose }: Enrolment & Closing) {
  const form = useForm({ mode: "onTouched", defaultValues: { code: "" } });
  const confirm = useApiMutation(
    (body: { code: string }) => send(`${FACTOR}/confirm`, { method: "POST", body }),
    {
      invalidate: FACTOR_QUERIES,
      successMessage: t("settings.secondFactor.isOn"),
      onSuccess: onClose,
    },
  );
  return (
    <FormDialog
      title={t("settings.secondFactor.setUp")}
      action={t("settings.secondFactor.turnOn")}
      task={confirm}
      onSubmit={form.handleSubmit((values) => confirm.mutate(values))}
      onClose={onClose}
    >
      <p>{t("settings.secondFactor.scan")}</p>
      <img src={qr} alt={t("settings.secondFactor.qr")} width={180} height={180} />
      <Secret
        text={new URL(uri).searchParams.get("secret") ?? ""}
        copyLabel={t("settings.secondFactor.copySecret")}
        testId="second-factor-secret"
      />
      <p className="warning">{t("settings.secondFactor.keepCodes")}</p>
      <Secret {...recoveryCodes(recovery_codes)} />
      <TextField
        label={t("settings.secondFactor.code")}
        inputMode="numeric"
        autoComplete="one-time-code"
        {...formField(form, "code", { validate: validateWith(appCode) })}
      />
    </FormDialog>
  );
}

const recoveryCodes = (codes: readonly string[]) => ({
  text: codes.join("\n"),
  copyLabel: t("settings.secondFactor.copyCodes"),
  testId: "recovery-codes",
});

function NewCodesDialog({ onClose }: Closing) {
  const make = useApiMutation(
    (password: string) =>
      getJson<{ recovery_codes: string[] }>(`${FACTOR}/recovery-codes`, {
        method: "POST",
        body: { password },
      }),
    { invalidate: ["second-factor"] },
  );
  if (make.data !== undefined)
    return (
      <SecretDialog
        title={t("settings.secondFactor.newCodes")}
        warning={t("settings.secondFactor.keepCodes")}
        done={t("ui.done")}
        onClose={onClose}
        {...recoveryCodes(make.data.recovery_codes)}
      />
    );
  return (
    <PasswordDialog
      title={t("settings.secondFactor.newCodes")}
      action={t("settings.secondFactor.makeCodes")}
      task={make}
      onPassword={make.mutate}
      onClose={onClose}
    />
  );
}

function RemoveFactorDialog({ onClose }: Closing) {
  const remove = useApiMutation(
    (password: string) => send(`${FACTOR}/remove`, { method: "POST", body: { password } }),
    {
      invalidate: FACTOR_QUERIES,
      successMessage: t("settings.secondFactor.isOff"),
      onSuccess: onClose,
    },
  );
  return (
    <PasswordDialog
      title={t("settings.secondFactor.remove")}
      action={t("ui.remove")}
      task={remove}
      onPassword={remove.mutate}
      onClose={onClose}
    />
  );
}

type PasswordDialogProps = Closing & {
  title: string;
  action: string;
  task: Task;
  onPassword: (password: string) => void;
};

/** Asks for the password, without which nothing of how one signs in is changed. */
function PasswordDialog({ onPassword, ...dialog }: PasswordDialogProps) {
  const form = useForm({ mode: "onTouched", defaultValues: { password: "" } });
  return (
    <FormDialog {...dialog} onSubmit={form.handleSubmit(({ password }) => onPassword(password))}>
      <PasswordField
        label={t("settings.profile.currentPassword")}
        autoComplete="current-password"
        {...formField(form, "password", { required: t("ui.required") })}
      />
    </FormDialog>
  );
}

const PASSKEYS = "/auth/passkeys";

export function Passkeys() {
  const passkeys = useQuery({
    queryKey: ["passkeys"],
    queryFn: async () => (await getJson<{ data: Passkey[] }>(PASSKEYS)).data,
  });
  return (
    <QueryBoundary query={passkeys} label={t("settings.passkeys.loading")} lines={1}>
      {(data) => (
        <div className="stack">
          <p>{t("settings.passkeys.intro")}</p>
          <ul className="rows">
            {data.map((passkey) => (
              <li key={passkey.id}>
                <span>
                  <strong>{passkey.name}</strong>
                  <span className="hint">
                    {t("settings.passkeys.added", { time: formatDateTime(passkey.created_at) })}
                  </span>
                </span>
                <Button
                  variant="quiet"
                  aria-label={t("settings.passkeys.removeOf", { name: passkey.name })}
                  opens={(close) => <RemovePasskeyDialog passkey={passkey} onClose={close} />}
                >
                  {t("ui.remove")}
                </Button>
              </li>
            ))}
          </ul>
          {hasPasskeys() ? (
            <div className="actions">
              <Button opens={(close) => <AddPasskeyDialog onClose={close} />}>
                {t("settings.passkeys.add")}
              </Button>
            </div>
          ) : (
            <p className="hint">{t("settings.passkeys.unsupported")}</p>
          )}
        </div>
      )}
    </QueryBoundary>
  );
}

type PasskeyValues = { name: string; password: string };

function AddPasskeyDialog({ onClose }: Closing) {
  const form = useForm<PasskeyValues>({
    mode: "onTouched",
    defaultValues: { name: "", password: "" },
  });
  const add = useApiMutation(
    async ({ name, password }: PasskeyValues) => {
      const options = await getJson<PublicKeyCredentialCreationOptionsJSON>(`${PASSKEYS}/options`, {
        method: "POST",
        body: { password },
      });
      const response = await makePasskey(options);
      if (response === undefined) return false;
      await send(PASSKEYS, { method: "POST", body: { name, response } });
      return true;
    },
    { invalidate: ["passkeys"], onSuccess: (isAdded) => isAdded && onClose() },
  );
  return (
    <FormDialog
      title={t("settings.passkeys.add")}
      action={t("settings.passkeys.make")}
      task={add}
      onSubmit={form.handleSubmit((values) => add.mutate(values))}
      onClose={onClose}
    >
      <TextField
        label={t("fields.name")}
        hint={t("settings.passkeys.nameHint")}
        {...formField(form, "name", { validate: validateWith(userName) })}
      />
      <PasswordField
        label={t("settings.profile.currentPassword")}
        autoComplete="current-password"
        {...formField(form, "password", { required: t("ui.required") })}
      />
      {add.data === false && <p role="status">{t("settings.passkeys.cancelled")}</p>}
    </FormDialog>
  );
}

function RemovePasskeyDialog({ passkey, onClose }: Closing & { passkey: Passkey }) {
  const remove = useApiMutation(
    (password: string) =>
      send(`${PASSKEYS}/${passkey.id}/remove`, { method: "POST", body: { password } }),
    {
      invalidate: ["passkeys"],
      successMessage: t("settings.passkeys.removed"),
      onSuccess: onClose,
    },
  );
  return (
    <PasswordDialog
      title={t("settings.passkeys.removeOf", { name: passkey.name })}
      action={t("ui.remove")}
      task={remove}
      onPassword={remove.mutate}
      onClose={onClose}
    />
  );
}
