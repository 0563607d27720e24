/** The user's passkeys. */
import { useQuery } from "@tanstack/react-query";
import { useForm } from "react-hook-form";

import type { Passkey } from "../../../../shared/contracts/user-responses.ts";
import { userName } from "../../../../shared/contracts/users.ts";
import { getJson, send } from "../../data/http.ts";
import { hasPasskeys, makePasskey } from "../../data/passkeys.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog, useDialog } from "../../ui/dialog.tsx";
import { formField, PasswordField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { useApiMutation } from "../../ui/mutation.ts";
import { QueryBoundary } from "../../ui/states.tsx";
import { validateWith } from "../../ui/validation.ts";
import { PasswordDialog } from "./second-factor.tsx";

const PATH = "/auth/passkeys";
const KEY = ["passkeys"];

export function Passkeys() {
  const { open, dialog } = useDialog();
  const passkeys = useQuery({
    queryKey: KEY,
    queryFn: async () => (await getJson<{ data: Passkey[] }>(PATH)).data,
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
                  onClick={() =>
                    open((close) => <RemoveDialog passkey={passkey} onClose={close} />)
                  }
                >
                  {t("settings.passkeys.remove")}
                </Button>
              </li>
            ))}
          </ul>
          {hasPasskeys() ? (
            <div className="actions">
              <Button onClick={() => open((close) => <AddDialog onClose={close} />)}>
                {t("settings.passkeys.add")}
              </Button>
            </div>
          ) : (
            <p className="hint">{t("settings.passkeys.unsupported")}</p>
          )}
          {dialog}
        </div>
      )}
    </QueryBoundary>
  );
}

type Values = { name: string; password: string };

function AddDialog({ onClose }: { onClose: () => void }) {
  const form = useForm<Values>({ mode: "onTouched", defaultValues: { name: "", password: "" } });
  const add = useApiMutation(
    async ({ name, password }: Values) => {
      const options = await getJson<PublicKeyCredentialCreationOptionsJSON>(`${PATH}/options`, {
        method: "POST",
        body: { password },
      });
      const response = await makePasskey(options);
      if (response === undefined) return false;
      await send(PATH, { method: "POST", body: { name, response } });
      return true;
    },
    { invalidate: [KEY], onSuccess: (isAdded) => isAdded && onClose() },
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
        label={t("settings.passkeys.name")}
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

function RemoveDialog({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const remove = useApiMutation(
    (password: string) =>
      send(`${PATH}/${passkey.id}/remove`, { method: "POST", body: { password } }),
    {
      invalidate: [KEY],
      successMessage: t("settings.passkeys.removed"),
      onSuccess: onClose,
    },
  );
  return (
    <PasswordDialog
      title={t("settings.passkeys.removeOf", { name: passkey.name })}
      action={t("settings.passkeys.remove")}
      task={remove}
      onPassword={remove.mutate}
      onClose={onClose}
    />
  );
}
