/**
 * Shares statistics with people without an account. Anyone with a share's URL can read its
 * statistics until it is revoked.
 */
import { useQuery } from "@tanstack/react-query";
import { Plus, Share2 } from "lucide-react";
import { useState } from "react";

import type { Share } from "../../../../../clients/typescript/src/index.ts";
import { getClient } from "../../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog, Dialog, Secret, SecretDialog, useDialog } from "../../../ui/dialog.tsx";
import { formatDate, formatDateTime } from "../../../ui/format.ts";
import { useApiMutation } from "../../../ui/mutation.ts";
import { Empty, QueryBoundary } from "../../../ui/states.tsx";
import { RowTable } from "../../../ui/table.tsx";
import { isFilterName } from "../analytics-query.ts";
import { FILTER_LABELS } from "../filters.ts";
import { type NewShare, NewShareDialog } from "./new-share-dialog.tsx";

/** The dialog's content: the shares, a form for a new one, or the URL of a new one. */
type View = { kind: "list" } | { kind: "new" } | { kind: "url"; share: NewShare };

/** Shares the statistics of a link, or of all links when `link` is null. */
export function ShareButton({ link }: { link: string | null }) {
  const [view, setView] = useState<View>();
  const close = () => setView(undefined);
  return (
    <>
      <Button onClick={() => setView({ kind: "list" })}>
        <Share2 aria-hidden /> {t("shares.share")}
      </Button>
      {view?.kind === "list" && (
        <ShareListDialog link={link} onNew={() => setView({ kind: "new" })} onClose={close} />
      )}
      {view?.kind === "new" && (
        <NewShareDialog
          link={link}
          onCreated={(share) => setView({ kind: "url", share })}
          onClose={() => setView({ kind: "list" })}
        />
      )}
      {view?.kind === "url" && (
        <ShareUrlDialog share={view.share} onClose={() => setView({ kind: "list" })} />
      )}
    </>
  );
}

/**
 * The shares of a link or of the account. Anyone with a share's URL can read its statistics until
 * it is revoked.
 */
type ShareListProps = {
  /** Null for shares of all links together. */
  link: string | null;
  onNew: () => void;
  onClose: () => void;
};

function ShareListDialog({ link, onNew, onClose }: ShareListProps) {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const shares = useQuery({
    queryKey: ["shares", scope],
    queryFn: () => Array.fromAsync(getClient(scope).shares.all()),
  });
  return (
    <Dialog title={t("shares.title")} onClose={onClose} wide>
      <QueryBoundary query={shares} label={t("shares.loading")}>
        {(data) => <ShareTable shares={data.filter(({ link_id }) => link_id === link)} />}
      </QueryBoundary>
      <footer>
        <Button onClick={onClose}>{t("ui.close")}</Button>
        {canWrite && (
          <Button variant="primary" onClick={onNew}>
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
  if (shares.length === 0) {
    return (
      <Empty title={t("shares.empty")}>
        <p>{t("shares.emptyHint")}</p>
      </Empty>
    );
  }
  return (
    <RowTable
      label={t("shares.title")}
      rows={shares}
      keyOf={({ id }) => id}
      columns={[
        {
          name: t("shares.name"),
          cell: (share) => (
            <>
              <strong>{nameOf(share)}</strong>
              <div className="hint">
                {t("shares.created", { time: formatDateTime(share.created_at) })}
              </div>
            </>
          ),
        },
        {
          name: t("shares.shows"),
          cell: ({ breakdowns }) =>
            [
              t("statistics.clicks"),
              ...breakdowns.filter(isFilterName).map((name) => t(FILTER_LABELS[name])),
            ].join(", "),
        },
        { name: t("shares.access"), cell: describeAccess },
      ]}
      actions={(share) => <ShareActions share={share} />}
    />
  );
}

function ShareActions({ share }: { share: Share }) {
  const canWrite = useCanWrite();
  const { open, dialog } = useDialog();
  return (
    canWrite && (
      <>
        <Button
          variant="quiet"
          aria-label={t("shares.rotateOne", { name: nameOf(share) })}
          onClick={() => open((close) => <RotateDialog share={share} onClose={close} />)}
        >
          {t("shares.rotate")}
        </Button>
        <Button
          variant="quiet"
          aria-label={t("shares.revokeOne", { name: nameOf(share) })}
          onClick={() => open((close) => <RevokeDialog share={share} onClose={close} />)}
        >
          {t("shares.revoke")}
        </Button>
        {dialog}
      </>
    )
  );
}

function RotateDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const { scope } = useAccountContext();
  const rotate = useApiMutation(() => getClient(scope).shares.rotate(share.id), {
    invalidate: [["shares", scope]],
  });
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

function RevokeDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const { scope } = useAccountContext();
  const revoke = useApiMutation(() => getClient(scope).shares.revoke(share.id), {
    invalidate: [["shares", scope]],
    successMessage: t("shares.revoked"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("shares.revokeTitle")}
      action={t("shares.revoke")}
      onClose={onClose}
      task={revoke}
    >
      <p>{t("shares.revokeText")}</p>
    </ConfirmDialog>
  );
}

/** Tall enough for the totals, the chart and two breakdowns. */
const FRAME_HEIGHT = 800;

const ShareUrlDialog = ({ share, onClose }: { share: NewShare; onClose: () => void }) => {
  const code = `<iframe src="${share.url}" title="${t("shares.frameTitle")}" width="100%" height="${FRAME_HEIGHT}" style="border: 0"></iframe>`;
  return (
    <SecretDialog
      title={t("shares.urlTitle")}
      warning={t("shares.urlWarning")}
      done={t("shares.urlSaved")}
      onClose={onClose}
    >
      <Secret text={share.url} copyLabel={t("shares.copyUrl")} testId="share-url" />
      {share.embed_origins.length > 0 && (
        <>
          <h3>{t("shares.embedCode")}</h3>
          <Secret text={code} copyLabel={t("shares.copyEmbed")} testId="embed-code" />
        </>
      )}
    </SecretDialog>
  );
};
