/** Exports all links of the account as a CSV file. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { pluralize } from "../../ui/format.ts";
import { Alert } from "../../ui/states.tsx";

const PROGRESS_EVERY_LINKS = 500;

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const [readCount, setReadCount] = useState(0);
  const controller = useRef(new AbortController());
  const exporting = useMutation({
    async mutationFn() {
      const rows: ReturnType<typeof toCsvRow>[] = [];
      const { signal } = controller.current;
      const query = { limit: 100, sort: "created_at", order: "asc" } as const;
      for await (const link of getClient(scope).links.all(query, { signal })) {
        rows.push(toCsvRow(link));
        if (rows.length % PROGRESS_EVERY_LINKS === 0) setReadCount(rows.length);
      }
      // Loaded on demand: most visits export nothing.
      const { saveCsv } = await import("../../data/csv.ts");
      saveCsv(rows, "links.csv");
      return rows.length;
    },
  });
  return (
    <Dialog
      title="Export links"
      onClose={() => {
        controller.current.abort();
        onClose();
      }}
    >
      <div className="stack" role="status">
        {exporting.isIdle && (
          <p>All links of this account, with titles, tags and click counts, without passwords.</p>
        )}
        {exporting.isPending && <p>{pluralize(readCount, "link")} read …</p>}
        {exporting.isSuccess && <p>{pluralize(exporting.data, "link")} exported.</p>}
        {exporting.error !== null && <Alert>{getErrorMessage(exporting.error)}</Alert>}
      </div>
      <footer>
        {exporting.isSuccess ? (
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <Button
            variant="primary"
            loading={exporting.isPending}
            onClick={() => exporting.mutate()}
          >
            Export as CSV
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

const toCsvRow = (link: Link) => ({
  short_url: link.short_url,
  original_url: link.original_url,
  alias: link.alias,
  domain: link.domain ?? "",
  title: link.title ?? "",
  tags: link.tags.join(","),
  clicks: link.clicks,
  created_at: link.created_at,
  expires_at: link.expires_at ?? "",
});
