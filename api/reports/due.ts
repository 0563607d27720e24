/**
 * Makes the reports that are due, in one API process at a time. A run and the next time at which
 * its report is due are written in one transaction, and no period has two runs, so each is made
 * once, whatever stops.
 */
import { MINUTE_MS } from "../../shared/durations.ts";
import type { Log } from "../../shared/log.ts";
import { repeat } from "../../shared/repeat.ts";
import { ApiError } from "../http/errors.ts";
import type { ReportRow } from "./model.ts";
import { type RunDeps, runDue } from "./runs.ts";
import { listDue, lockMaking, moveDue, pauseReport } from "./sql.ts";

/** Time between two looks for reports that are due. */
const LOOK_MS = 10_000;

/** Reports of one look, and those of them that are made at the same time. */
const DUE_MAX = 100;
const RUNNING_MAX = 4;

/** Time after which a report is made that could not be made. */
const RETRY_MS = 5 * MINUTE_MS;

export type MakingDeps = RunDeps & { log: Log };

/** Makes reports in the background; the returned function stops it. */
export function startMakingReports(deps: MakingDeps): () => void {
  const making = repeat(async () => {
    const made = await makeDue(deps).catch((error: unknown) => {
      deps.log.warn({ error }, "reports_not_made");
      return 0;
    });
    return made === DUE_MAX ? 0 : LOOK_MS;
  });
  return () => void making.stop();
}

/** Makes what is due, unless another process does so. Returns how many reports were due. */
export const makeDue = async (deps: MakingDeps): Promise<number> =>
  await deps.sql.begin(async (lock) => {
    if (!(await lockMaking(lock))) return 0;
    const due = await listDue(deps.sql, DUE_MAX);
    for (let i = 0; i < due.length; i += RUNNING_MAX)
      await Promise.all(due.slice(i, i + RUNNING_MAX).map((report) => make(deps, report)));
    return due.length;
  });

/** Makes one report. One that fails is due a little later, so that it keeps no other waiting. */
async function make(deps: MakingDeps, report: ReportRow): Promise<void> {
  const { sql, log } = deps;
  const { id, due_at: from } = report;
  try {
    await runDue(deps, report);
  } catch (error) {
    if (error instanceof ApiError && error.reason === "not_found")
      return await pauseReport(sql, id, from);
    log.warn({ error, report_id: id }, "report_not_made");
    await moveDue(sql, id, { from, to: new Date(Date.now() + RETRY_MS) });
  }
}
