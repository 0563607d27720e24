/** The user's second factor: codes of an app, and recovery codes. */
import { useQuery } from "@tanstack/react-query";
import { useForm } from "react-hook-form";

import type { Enrolment, SecondFactorState } from "../../../../shared/contracts/user-responses.ts";
import { appCode } from "../../../../shared/contracts/users.ts";
import { getJson, send } from "../../data/http.ts";
import { SESSION_KEY, useSignOut } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog, Secret, SecretDialog, useDialog } from "../../ui/dialog.tsx";
import { formField, PasswordField, TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { AuthCard } from "../../ui/page.tsx";
import { QueryBoundary, type Task } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";

const PATH = "/auth/second-factor";
const KEY = ["second-factor"];

export function SecondFactor() {
  const { open, dialog } = useDialog();
  const state = useQuery({ queryKey: KEY, queryFn: () => getJson<SecondFactorState>(PATH) });
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
                <Button onClick={() => open((close) => <NewCodesDialog onClose={close} />)}>
                  {t("settings.secondFactor.newCodes")}
                </Button>
                <Button
                  variant="danger"
                  onClick={() => open((close) => <RemoveDialog onClose={close} />)}
                >
                  {t("settings.secondFactor.remove")}
                </Button>
              </>
            ) : (
              <Button onClick={() => open((close) => <SetUpDialog onClose={close} />)}>
                {t("settings.secondFactor.setUp")}
              </Button>
            )}
          </div>
          {dialog}
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
    (password: string) => getJson<Enrolment>(PATH, { method: "POST", body: { password } }),
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
    (body: { code: string }) => send(`${PATH}/confirm`, { method: "POST", body }),
    {
      invalidate: [KEY, ["sessions"], SESSION_KEY],
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
      <RecoveryCodes codes={recovery_codes} />
      <TextField
        label={t("settings.secondFactor.code")}
        inputMode="numeric"
        autoComplete="one-time-code"
        {...formField(form, "code", { validate: validateWith(appCode) })}
      />
    </FormDialog>
  );
}

const RecoveryCodes = ({ codes }: { codes: readonly string[] }) => (
  <Secret
    text={codes.join("\n")}
    copyLabel={t("settings.secondFactor.copyCodes")}
    testId="recovery-codes"
  />
);

function NewCodesDialog({ onClose }: Closing) {
  const make = useApiMutation(
    (password: string) =>
      getJson<{ recovery_codes: string[] }>(`${PATH}/recovery-codes`, {
        method: "POST",
        body: { password },
      }),
    { invalidate: [KEY] },
  );
  if (make.data !== undefined)
    return (
      <SecretDialog
        title={t("settings.secondFactor.newCodes")}
        warning={t("settings.secondFactor.keepCodes")}
        done={t("links.export.close")}
        onClose={onClose}
      >
        <RecoveryCodes codes={make.data.recovery_codes} />
      </SecretDialog>
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

function RemoveDialog({ onClose }: Closing) {
  const remove = useApiMutation(
    (password: string) => send(`${PATH}/remove`, { method: "POST", body: { password } }),
    {
      invalidate: [KEY, ["sessions"], SESSION_KEY],
      successMessage: t("settings.secondFactor.isOff"),
      onSuccess: onClose,
    },
  );
  return (
    <PasswordDialog
      title={t("settings.secondFactor.remove")}
      action={t("settings.secondFactor.removeAction")}
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
export function PasswordDialog({ onPassword, ...dialog }: PasswordDialogProps) {
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
