/** All links as a CSV file. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import { messageOf } from "../../data/errors.ts";
import { clientOf, saveFile } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { Problem } from "../../ui/states.tsx";

const TOLD_EVERY = 500;

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const { place } = useHere();
  const [read, setRead] = useState(0);
  const controller = useRef(new AbortController());
  const run = useMutation({
    async mutationFn() {
      const rows: ReturnType<typeof rowOf>[] = [];
      const { signal } = controller.current;
      const query = { limit: 100, sort: "created_at", order: "asc" } as const;
      for await (const link of clientOf(place).links.all(query, { signal })) {
        rows.push(rowOf(link));
        if (rows.length % TOLD_EVERY === 0) setRead(rows.length);
      }
      const { default: Papa } = await import("papaparse");
      // Cells that a spreadsheet would run as formulas are made harmless.
      const text = Papa.unparse(rows, { escapeFormulae: true });
      saveFile(new Blob([text], { type: "text/csv" }), "links.csv");
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
        {run.isIdle && (
          <p>All links of this account with title, tags and figures. Passwords are not in it.</p>
        )}
        {run.isPending && <p>{counted(read, "link")} read …</p>}
        {run.isSuccess && <p>{counted(run.data, "link")} exported.</p>}
        {run.error !== null && <Problem>{messageOf(run.error)}</Problem>}
      </div>
      <footer>
        {run.isSuccess ? (
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <Button look="primary" busy={run.isPending} onClick={() => run.mutate()}>
            Export as CSV
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

const rowOf = (link: Link) => ({
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
