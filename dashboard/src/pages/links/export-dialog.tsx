/** Exports all links of the account as a CSV file. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Alert } from "../../ui/states.tsx";
import type { CsvRow } from "./link-csv.ts";

const PROGRESS_EVERY_LINKS = 500;

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const [readCount, setReadCount] = useState(0);
  const controller = useRef(new AbortController());
  const exporting = useMutation({
    async mutationFn() {
      const rows: CsvRow[] = [];
      const { signal } = controller.current;
      // Loaded on demand: most visits export nothing.
      const [{ saveCsv }, { toCsvRow }] = await Promise.all([
        import("../../data/csv.ts"),
        import("./link-csv.ts"),
      ]);
      const query = {
        limit: 100,
        sort: "created_at",
        order: "asc",
        archived: "any",
        include: "settings",
      } as const;
      for await (const link of getClient(scope).links.all(query, { signal })) {
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
        {exporting.isIdle && <p>{t("links.export.text")}</p>}
        {exporting.isPending && <p>{t("links.export.read", { count: readCount })}</p>}
        {exporting.isSuccess && <p>{t("links.export.done", { count: exporting.data })}</p>}
        {exporting.error !== null && <Alert>{getErrorMessage(exporting.error)}</Alert>}
      </div>
      <footer>
        {exporting.isSuccess ? (
          <Button variant="primary" onClick={onClose}>
            {t("links.export.close")}
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
