/** Checks all rows of an import before anything is created, and starts it. */
import { useQuery } from "@tanstack/react-query";

import { getClient } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { formatCount } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { Alert } from "../../../ui/states.tsx";
import { FailedTable } from "./failed-table.tsx";
import { findField } from "./fields.ts";
import { listFailed } from "./import-run.ts";
import type { ImportItem } from "./model.ts";
import { countNotes, countProblems } from "./summary.ts";
import { describeCheck } from "./texts.ts";
import type { ChosenFile, Import } from "./use-import.ts";

export function CheckCard({ chosen, steps }: { chosen: ChosenFile; steps: Import }) {
  const { stage } = steps;
  const { rows } = chosen.file;
  return (
    <Card title={t("import.check")}>
      <div className="stack">
        {stage.name === "map" && (
          <>
            {stage.error !== undefined && <Alert>{stage.error}</Alert>}
            <p>{t("import.checkHint")}</p>
            <div>
              <Button
                variant="primary"
                disabled={findField(chosen.mapping, "url") < 0}
                onClick={() => void steps.check(chosen)}
              >
                {t("import.run.check", { count: rows.length })}
              </Button>
            </div>
          </>
        )}
        {stage.name === "checking" && (
          <>
            <label className="progress">
              {t("import.run.checking", { done: stage.done, total: stage.total })}
              <progress value={stage.done} max={stage.total} />
            </label>
            <div>
              <Button onClick={steps.cancelCheck}>{t("ui.cancel")}</Button>
            </div>
          </>
        )}
        {stage.name === "checked" && (
          <Checked
            chosen={chosen}
            items={stage.items}
            onStart={() => void steps.start(stage.items)}
          />
        )}
      </div>
    </Card>
  );
}

function Checked({
  chosen,
  items,
  onStart,
}: {
  chosen: ChosenFile;
  items: readonly ImportItem[];
  onStart: () => void;
}) {
  const failed = listFailed(items);
  const possible = items.length - failed.length;
  return (
    <>
      <p role="status">
        {describeCheck(possible, items.length)} {t("import.nothingYet")}
      </p>
      <Counts items={items} />
      <QuotaWarning needed={possible} />
      {failed.length > 0 && <FailedTable file={chosen.file} failed={failed} />}
      {possible > 0 && (
        <div>
          <Button variant="primary" onClick={onStart}>
            {t("import.run.start", { count: possible })}
          </Button>
        </div>
      )}
    </>
  );
}

/** How many links have which problem, and what one should know of the others. */
function Counts({ items }: { items: readonly ImportItem[] }) {
  const problems = countProblems(items);
  const notes = countNotes(items);
  return (
    <div className="columns">
      {problems.length > 0 && (
        <section>
          <h3>{t("import.run.notImported")}</h3>
          <ul className="import-counts" aria-label={t("import.run.notImported")}>
            {problems.map(({ kind, count }) => (
              <li key={kind}>
                <b>{formatCount(count)}</b> {t(`import.problems.${kind}`)}
              </li>
            ))}
          </ul>
        </section>
      )}
      {notes.length > 0 && (
        <section>
          <h3>{t("import.run.notes")}</h3>
          <ul className="import-counts" aria-label={t("import.run.notes")}>
            {notes.map(({ kind, count }) => (
              <li key={kind} {...(kind === "left_archived" ? { className: "warning" } : {})}>
                <b>{formatCount(count)}</b> {t(`import.notes.${kind}`)}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** Says that the account may create fewer links today than the import would. */
function QuotaWarning({ needed }: { needed: number }) {
  const { scope } = useAccountContext();
  const limits = useQuery({
    queryKey: ["limits", scope],
    queryFn: () => getClient(scope).limits(),
  });
  const quota = limits.data?.quotas.find(({ name }) => name === "links_per_day");
  if (quota === undefined || quota.remaining >= needed) return null;
  return <p className="warning">{t("import.quota", { count: quota.remaining })}</p>;
}
