/** The dialogs of links, one script: see `lazy-dialogs.tsx`. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Link, Query } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import type { CsvRow } from "../../data/csv.ts";
import { getClient, PATIENT } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ActionDialog, Dialog } from "../../ui/dialog.tsx";
import { ChoiceField } from "../../ui/field.tsx";
import { ErrorAlert } from "../../ui/states.tsx";
import { isFiltered, type ListQuery, toApiQuery } from "./list-query.ts";

export { SavedDialog } from "../saved-dialog.tsx";
export { BulkDialog, ReportDialog } from "./bulk-dialogs.tsx";
export { EditDialog } from "./edit-dialog.tsx";
export { QrDialog } from "./qr-dialog.tsx";

export const DeleteDialog = ({ link, onClose }: { link: Link; onClose: () => void }) => (
  <ActionDialog
    title={t("links.delete.title")}
    action={t("ui.delete")}
    run={(client) => client.links.delete(link.id)}
    invalidate={["links", "tags"]}
    successMessage={t("links.delete.done")}
    onClose={onClose}
  >
    <p>{rich("links.delete.text", { url: readableUrl(link.short_url), strong })}</p>
  </ActionDialog>
);

const EVERY_LINK: Query<"listLinks"> = { sort: "created_at", order: "asc", archived: "any" };

const PROGRESS_EVERY_LINKS = 500;

/** Exports the links of the account, or those that the list shows, as a CSV file. */
export function ExportDialog({ query, onClose }: { query: ListQuery; onClose: () => void }) {
  const { scope } = useAccountContext();
  const canChoose = isFiltered(query);
  const [onlyMatching, setOnlyMatching] = useState(canChoose);
  const [readCount, setReadCount] = useState(0);
  const controller = useRef(new AbortController());
  const exporting = useMutation({
    async mutationFn() {
      const rows: CsvRow[] = [];
      const { signal } = controller.current;
      // Loaded on demand: most visits export nothing.
      const { saveCsv, toCsvRow } = await import("../../data/csv.ts");
      const all = getClient(scope, PATIENT).links.all(
        { ...(onlyMatching ? toApiQuery(query) : EVERY_LINK), limit: 100, include: "settings" },
        { signal },
      );
      for await (const link of all) {
        rows.push(toCsvRow(link));
        if (rows.length % PROGRESS_EVERY_LINKS === 0) setReadCount(rows.length);
      }
      saveCsv(rows, "links.csv");
      return rows.length;
    },
  });
  return (
    <Dialog
      title={t("links.export.title")}
      onClose={() => {
        controller.current.abort();
        onClose();
      }}
    >
      <div className="stack" role="status">
        {exporting.isIdle && (
          <>
            {canChoose && (
              <ChoiceField
                label={t("links.export.which")}
                options={[
                  { value: true, label: t("links.export.matching") },
                  { value: false, label: t("links.status.any") },
                ]}
                value={onlyMatching}
                onChoose={setOnlyMatching}
              />
            )}
            <p>{onlyMatching ? t("links.export.matchingText") : t("links.export.text")}</p>
          </>
        )}
        {exporting.isPending && <p>{t("links.export.read", { count: readCount })}</p>}
        {exporting.isSuccess && <p>{t("links.export.done", { count: exporting.data })}</p>}
        <ErrorAlert error={exporting.error} />
      </div>
      <footer>
        {exporting.isSuccess ? (
          <Button variant="primary" onClick={onClose}>
            {t("ui.done")}
          </Button>
        ) : (
          <Button
            variant="primary"
            loading={exporting.isPending}
            onClick={() => exporting.mutate()}
          >
            {t("links.export.start")}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}
