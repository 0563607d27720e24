/** Shows the URL of a new share, and the code that embeds its page. */
import { t } from "../../../languages/translate.ts";
import { Secret, SecretDialog } from "../../../ui/secret-dialog.tsx";
import type { NewShare } from "./new-share-dialog.tsx";

/** Tall enough for the totals, the chart and two breakdowns. */
const FRAME_HEIGHT = 800;

export const ShareUrlDialog = ({ share, onClose }: { share: NewShare; onClose: () => void }) => {
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
