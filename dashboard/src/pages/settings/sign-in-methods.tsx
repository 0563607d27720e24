/** How the user signs in beside a password: a second factor, with its codes, and passkeys. */
import { useQuery } from "@tanstack/react-query";
import type { ComponentProps, ReactNode } from "react";

import type {
  Enrolment,
  Passkey,
  SecondFactorState,
} from "../../../../shared/contracts/user-responses.ts";
import { appCode, userName } from "../../../../shared/contracts/users.ts";
import { getJson, post } from "../../data/http.ts";
import { hasPasskeys, makePasskey } from "../../data/passkeys.ts";
import { SESSION_KEY } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button, SignOutButton } from "../../ui/button.tsx";
import { FormDialog, Secret, SecretDialog } from "../../ui/dialog.tsx";
import { PasswordField, TextField } from "../../ui/field.tsx";
import { formField, required, useFormAction } from "../../ui/form.ts";
import { formatDateTime } from "../../ui/format.ts";
import { AuthCard } from "../../ui/page.tsx";
import { type Effects, QueryBoundary } from "../../ui/states.tsx";

const FACTOR = "/auth/second-factor";

/** What setting it up or removing it affects. */
const FACTOR_QUERIES = ["second-factor", "sessions", ...SESSION_KEY];

export function SecondFactor() {
  const state = useQuery({
    queryKey: ["second-factor"],
    queryFn: () => getJson<SecondFactorState>(FACTOR),
  });
  return (
    <QueryBoundary query={state} label={t("settings.secondFactor.title")} lines={1}>
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
  return (
    <AuthCard title={t("settings.secondFactor.title")}>
      <p>{t("settings.secondFactor.needed", { account })}</p>
      <SecondFactor />
      <SignOutButton />
    </AuthCard>
  );
}

type Closing = { onClose: () => void };

const SetUpDialog = ({ onClose }: Closing) => (
  <PasswordDialog
    title={t("settings.secondFactor.setUp")}
    action={t("settings.secondFactor.next")}
    run={(body) => post<Enrolment>(FACTOR, body)}
    onClose={onClose}
  >
    {(enrolment) => <ConfirmationDialog {...enrolment} onClose={onClose} />}
  </PasswordDialog>
);

function ConfirmationDialog({ uri, qr, recovery_codes, onClose }: Enrolment & Closing) {
  const { form, props } = useFormAction(
    { code: "" },
    (values) => post(`${FACTOR}/confirm`, values),
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
      onClose={onClose}
      {...props}
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
        {...formField(form, "code", appCode)}
      />
    </FormDialog>
  );
}

const recoveryCodes = (codes: readonly string[]) => ({
  text: codes.join("\n"),
  copyLabel: t("settings.secondFactor.copyCodes"),
  testId: "recovery-codes",
});

const NewCodesDialog = ({ onClose }: Closing) => (
  <PasswordDialog
    title={t("settings.secondFactor.newCodes")}
    action={t("settings.secondFactor.makeCodes")}
    run={(body) => post<{ recovery_codes: string[] }>(`${FACTOR}/recovery-codes`, body)}
    invalidate={["second-factor"]}
    onClose={onClose}
  >
    {({ recovery_codes }) => (
      <SecretDialog
        title={t("settings.secondFactor.newCodes")}
        warning={t("settings.secondFactor.keepCodes")}
        done={t("ui.done")}
        onClose={onClose}
        {...recoveryCodes(recovery_codes)}
      />
    )}
  </PasswordDialog>
);

const RemoveFactorDialog = ({ onClose }: Closing) => (
  <PasswordDialog
    title={t("settings.secondFactor.remove")}
    action={t("ui.remove")}
    run={(body) => post(`${FACTOR}/remove`, body)}
    invalidate={FACTOR_QUERIES}
    successMessage={t("settings.secondFactor.isOff")}
    onClose={onClose}
  />
);

type PasswordDialogProps<Result> = Closing &
  Omit<Effects<Result>, "onSuccess"> & {
    title: string;
    action: string;
    run: (body: { password: string }) => Promise<Result>;
    /** Takes its place afterwards; without it, it closes. */
    children?: (result: Result) => ReactNode;
  };

/** Asks for the password, without which nothing of how one signs in is changed. */
function PasswordDialog<Result>({ run, children, ...dialog }: PasswordDialogProps<Result>) {
  const { form, action, props } = useFormAction({ password: "" }, run, {
    ...dialog,
    ...(children === undefined ? { onSuccess: dialog.onClose } : {}),
  });
  if (children !== undefined && action.data !== undefined) return children(action.data);
  return (
    <FormDialog title={dialog.title} action={dialog.action} onClose={dialog.onClose} {...props}>
      <CurrentPasswordField {...formField(form, "password", required)} />
    </FormDialog>
  );
}

/** The field for the password that the user has. */
export const CurrentPasswordField = (
  field: Omit<ComponentProps<typeof PasswordField>, "label">,
) => (
  <PasswordField
    label={t("settings.profile.currentPassword")}
    autoComplete="current-password"
    {...field}
  />
);

const PASSKEYS = "/auth/passkeys";

export function Passkeys() {
  const passkeys = useQuery({
    queryKey: ["passkeys"],
    queryFn: async () => (await getJson<{ data: Passkey[] }>(PASSKEYS)).data,
  });
  return (
    <QueryBoundary query={passkeys} label={t("settings.passkeys.title")} lines={1}>
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

function AddPasskeyDialog({ onClose }: Closing) {
  const { form, action, props } = useFormAction({ name: "", password: "" }, addPasskey, {
    invalidate: ["passkeys"],
    onSuccess: (isAdded) => isAdded && onClose(),
  });
  return (
    <FormDialog
      title={t("settings.passkeys.add")}
      action={t("settings.passkeys.make")}
      onClose={onClose}
      {...props}
    >
      <TextField
        label={t("fields.name")}
        hint={t("settings.passkeys.nameHint")}
        {...formField(form, "name", userName)}
      />
      <CurrentPasswordField {...formField(form, "password", required)} />
      {action.data === false && <p role="status">{t("settings.passkeys.cancelled")}</p>}
    </FormDialog>
  );
}

/** Makes a passkey in this browser, and stores it; returns false when the user has cancelled. */
async function addPasskey({ name, ...body }: { name: string; password: string }): Promise<boolean> {
  const options = await post<PublicKeyCredentialCreationOptionsJSON>(`${PASSKEYS}/options`, body);
  const response = await makePasskey(options);
  if (response === undefined) return false;
  await post(PASSKEYS, { name, response });
  return true;
}

const RemovePasskeyDialog = ({ passkey, onClose }: Closing & { passkey: Passkey }) => (
  <PasswordDialog
    title={t("settings.passkeys.removeOf", { name: passkey.name })}
    action={t("ui.remove")}
    run={(body) => post(`${PASSKEYS}/${passkey.id}/remove`, body)}
    invalidate={["passkeys"]}
    successMessage={t("settings.passkeys.removed")}
    onClose={onClose}
  />
);
