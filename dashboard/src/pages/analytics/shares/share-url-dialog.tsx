/** Shows the URL of a new share, and the code that embeds its page. */
import { Secret, SecretDialog } from "../../../ui/secret-dialog.tsx";
import type { NewShare } from "./new-share-dialog.tsx";

/** Tall enough for the totals, the chart and two breakdowns. */
const FRAME_HEIGHT = 800;

export const ShareUrlDialog = ({ share, onClose }: { share: NewShare; onClose: () => void }) => {
  const code = `<iframe src="${share.url}" title="Statistics" width="100%" height="${FRAME_HEIGHT}" style="border: 0"></iframe>`;
  return (
    <SecretDialog
      title="Your new share"
      warning="Copy the URL now: it is shown only once. Who has it can read the statistics."
      done="I have saved it"
      onClose={onClose}
    >
      <Secret text={share.url} copyLabel="Copy URL" testId="share-url" />
      {share.embed_origins.length > 0 && (
        <>
          <h3>Embed code</h3>
          <Secret text={code} copyLabel="Copy embed code" testId="embed-code" />
        </>
      )}
    </SecretDialog>
  );
};
