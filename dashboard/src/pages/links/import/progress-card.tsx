/** The progress of an import, and in the end what was not imported. */
import { Link as PageLink } from "wouter";

import { readList } from "../../../data/complete-list.ts";
import { t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/page.tsx";
import { Alert } from "../../../ui/states.tsx";
import { FailedTable } from "./failed-table.tsx";
import type { ImportProgress } from "./import-run.ts";
import type { ImportFile } from "./read-file.ts";
import { describeProgress } from "./texts.ts";

export function ProgressCard({
  file,
  tags,
  total,
  progress: { startedAt, done, created, failed, ended, stopReason },
  onStop,
}: {
  file: ImportFile;
  /** The tags that all of the links have, as typed. */
  tags: string;
  total: number;
  progress: ImportProgress;
  onStop: () => void;
}) {
  const restMs = done === 0 ? undefined : ((Date.now() - startedAt) / done) * (total - done);
  return (
    <Card title={t("import.run.progress")}>
      <div className="stack">
        {!ended && (
          <>
            <label className="progress">
              {describeProgress(done, total, restMs)}
              <progress value={done} max={total} />
            </label>
            <div>
              <Button onClick={onStop}>{t("import.run.stop")}</Button>
            </div>
          </>
        )}
        <p role="status">{t("import.run.result", { created, failed: failed.length })}</p>
        {ended && created > 0 && (
          <div>
            <PageLink href={listHref(tags)} className="button button-primary">
              {t("import.run.showImported")}
            </PageLink>
          </div>
        )}
        {stopReason !== undefined && <Alert>{stopReason}</Alert>}
        {ended && failed.length > 0 && <FailedTable file={file} failed={failed} />}
      </div>
    </Card>
  );
}

/** The list of links, the newest first: those of the tags, archived ones too. */
function listHref(tags: string): string {
  const query = new URLSearchParams([
    ["archived", "any"],
    ...readList(tags).map((tag) => ["tag", tag]),
  ]);
  return `/links?${query.toString()}`;
}
