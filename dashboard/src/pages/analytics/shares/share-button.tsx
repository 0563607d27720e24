/** Opens the dialog that shares statistics with people without an account. */
import { Share2 } from "lucide-react";
import { useState } from "react";

import { t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { type NewShare, NewShareDialog } from "./new-share-dialog.tsx";
import { ShareListDialog } from "./share-list-dialog.tsx";
import { ShareUrlDialog } from "./share-url-dialog.tsx";

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
