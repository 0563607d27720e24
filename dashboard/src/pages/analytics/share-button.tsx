/**
 * Shares statistics with people without an account. Anyone with a share's URL can read its
 * statistics until it is revoked.
 */
import { Plus, Share2 } from "lucide-react";
import type { UseFormReturn } from "react-hook-form";

import type { ResponseBody, Share } from "../../../../clients/typescript/src/index.ts";
import { COLUMN_FILTERS } from "../../../../shared/contracts/analytics.ts";
import {
  shareBreakdowns,
  shareName,
  shareOrigin,
  sharePassword,
} from "../../../../shared/contracts/share-schemas.ts";
import { readWords } from "../../data/complete-list.ts";
import { useApiQuery, useCanWrite, useClient } from "../../data/session.ts";
import { validateWith } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import {
  ActionDialog,
  ConfirmDialog,
  Dialog,
  FormDialog,
  Secret,
  SecretDialog,
} from "../../ui/dialog.tsx";
import { CheckGroup, Disclosure, ListField, PasswordField, TextField } from "../../ui/field.tsx";
import { formField, optionalBy, useFormAction } from "../../ui/form.ts";
import { formatDate, formatDateTime } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { QueryList, useApiMutation } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { isFilterName, readRange } from "./analytics-path.ts";
import { filterLabel } from "./analytics-query.ts";

/** What is shared: the statistics of the link with this id; null for those of all links. */
type Shared = { link: string | null };

/** A button that opens the list of shares, where new ones are made. */
export const ShareButton = ({ link }: Shared) => (
  <Button opens={(close) => <ShareListDialog link={link} onClose={close} />}>
    <Share2 aria-hidden /> {t("shares.share")}
  </Button>
);

function ShareListDialog({ link, onClose }: Shared & { onClose: () => void }) {
  const canWrite = useCanWrite();
  const shares = useApiQuery(["shares"], (client) => Array.fromAsync(client.shares.all()));
  const data = shares.data?.filter(({ link_id }) => link_id === link);
  return (
    <Dialog title={t("shares.title")} onClose={onClose} wide>
      <QueryList
        query={{ ...shares, data }}
        label={t("shares.title")}
        empty={{ title: t("shares.empty"), hint: t("shares.emptyHint") }}
      >
        {(rows) => <ShareTable shares={rows} />}
      </QueryList>
      <footer>
        <Button onClick={onClose}>{t("ui.close")}</Button>
        {canWrite && (
          <Button
            variant="primary"
            opens={(close) => <NewShareDialog link={link} onClose={close} />}
          >
            <Plus aria-hidden /> {t("shares.new")}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

function describeAccess({ has_password, expires_at }: Share): string {
  const access = t(has_password ? "shares.withPassword" : "shares.withoutPassword");
  if (expires_at === null) return access;
  return t(Date.parse(expires_at) > Date.now() ? "shares.until" : "shares.expired", {
    access,
    time: formatDateTime(expires_at),
  });
}

const nameOf = ({ name, created_at }: Share): string =>
  name ?? t("shares.unnamed", { date: formatDate(created_at) });

function ShareTable({ shares }: { shares: readonly Share[] }) {
  return (
    <RowTable
      label={t("shares.title")}
      rows={shares}
      keyOf={({ id }) => id}
      columns={[
        {
          name: t("fields.name"),
          cell: (share) => (
            <>
              <strong>{nameOf(share)}</strong>
              <div className="hint">
                {t("settings.keys.created", { time: formatDateTime(share.created_at) })}
              </div>
            </>
          ),
        },
        {
          name: t("shares.shows"),
          cell: ({ breakdowns }) =>
            [t("statistics.clicks"), ...breakdowns.filter(isFilterName).map(filterLabel)].join(
              ", ",
            ),
        },
        { name: t("shares.access"), cell: describeAccess },
      ]}
      actions={(share) => <ShareActions share={share} />}
    />
  );
}

const ShareActions = ({ share }: { share: Share }) =>
  useCanWrite() && (
    <>
      <Button
        variant="quiet"
        aria-label={t("shares.rotateOne", { name: nameOf(share) })}
        opens={(close) => <RotateDialog share={share} onClose={close} />}
      >
        {t("shares.rotate")}
      </Button>
      <Button
        variant="quiet"
        aria-label={t("shares.revokeOne", { name: nameOf(share) })}
        opens={(close) => <RevokeDialog share={share} onClose={close} />}
      >
        {t("ui.revoke")}
      </Button>
    </>
  );

function RotateDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const client = useClient();
  const rotate = useApiMutation(() => client.shares.rotate(share.id), { invalidate: ["shares"] });
  if (rotate.data !== undefined) return <ShareUrlDialog share={rotate.data} onClose={onClose} />;
  return (
    <ConfirmDialog
      title={t("shares.rotateTitle")}
      action={t("shares.rotate")}
      onClose={onClose}
      task={rotate}
    >
      <p>{t("shares.rotateText")}</p>
    </ConfirmDialog>
  );
}

const RevokeDialog = ({ share, onClose }: { share: Share; onClose: () => void }) => (
  <ActionDialog
    title={t("shares.revokeTitle")}
    action={t("ui.revoke")}
    run={(client) => client.shares.revoke(share.id)}
    invalidate={["shares"]}
    successMessage={t("shares.revoked")}
    onClose={onClose}
  >
    <p>{t("shares.revokeText")}</p>
  </ActionDialog>
);

/** Tall enough for the totals, the chart and two breakdowns. */
const FRAME_HEIGHT = 800;

const ShareUrlDialog = ({ share, onClose }: { share: NewShare; onClose: () => void }) => {
  const code = `<iframe src="${share.url}" title="${t("shares.frameTitle")}" width="100%" height="${FRAME_HEIGHT}" style="border: 0"></iframe>`;
  return (
    <SecretDialog
      title={t("shares.urlTitle")}
      warning={t("shares.urlWarning")}
      done={t("ui.saved")}
      onClose={onClose}
      text={share.url}
      copyLabel={t("shares.copyUrl")}
      testId="share-url"
    >
      {share.embed_origins.length > 0 && (
        <>
          <h3>{t("shares.embedCode")}</h3>
          <Secret text={code} copyLabel={t("shares.copyEmbed")} testId="embed-code" />
        </>
      )}
    </SecretDialog>
  );
};

// The form of a new share: its content and its access.

type NewShare = ResponseBody<"createShare">;

type Values = {
  name: string;
  breakdowns: (typeof COLUMN_FILTERS)[number][];
  password: string;
  expires_at: string;
  embed_origins: string;
};

const newValues: Values = {
  name: "",
  breakdowns: ["country", "device", "referrer"],
  password: "",
  expires_at: "",
  embed_origins: "",
};

function NewShareDialog({ link, onClose }: Shared & { onClose: () => void }) {
  const client = useClient();
  const { timezone } = readRange(new URLSearchParams(location.search));
  const {
    form,
    props,
    action: create,
  } = useFormAction(
    newValues,
    ({ name, breakdowns, password, expires_at, embed_origins }) =>
      client.shares.create({
        link_id: link,
        timezone,
        breakdowns,
        name: name.trim() === "" ? null : name.trim(),
        password: password === "" ? null : password,
        expires_at: expires_at === "" ? null : toInstant(expires_at),
        embed_origins: readWords(embed_origins),
      }),
    { invalidate: ["shares"] },
  );
  if (create.data !== undefined) return <ShareUrlDialog share={create.data} onClose={onClose} />;
  return (
    <FormDialog
      title={t("shares.new")}
      action={t("shares.create")}
      onClose={onClose}
      wide
      {...props}
    >
      <ContentFields form={form} />
      <AccessFields form={form} />
    </FormDialog>
  );
}

type FieldsProps = { form: UseFormReturn<Values> };

function ContentFields({ form }: FieldsProps) {
  return (
    <>
      <TextField
        label={t("fields.name")}
        hint={t("shares.nameHint")}
        {...formField(form, "name", optionalBy(shareName))}
      />
      <CheckGroup
        label={t("shares.breakdowns")}
        options={COLUMN_FILTERS.map((value) => ({ value, label: filterLabel(value) }))}
        {...formField(form, "breakdowns", shareBreakdowns)}
      />
    </>
  );
}

function AccessFields({ form }: FieldsProps) {
  return (
    <>
      <PasswordField
        label={t("fields.password")}
        autoComplete="new-password"
        hint={t("shares.passwordHint")}
        {...formField(form, "password", optionalBy(sharePassword))}
      />
      <TextField
        label={t("ui.expires")}
        type="datetime-local"
        hint={t("shares.expiresHint")}
        {...formField(form, "expires_at")}
      />
      <Disclosure title={t("shares.embedding")}>
        <ListField
          label={t("fields.embed_origins")}
          placeholder="https://www.example.com"
          hint={t("shares.sitesHint")}
          {...formField(form, "embed_origins", validateOrigins)}
        />
      </Disclosure>
    </>
  );
}

const validateOrigins = (text: string): true | string =>
  readWords(text)
    .map(validateWith(shareOrigin))
    .find((result) => result !== true) ?? true;
