import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { getErrorMessage } from "../../data/errors.ts";
import { getClient, PATIENT } from "../../data/http.ts";
import type { AccountScope } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { toast } from "../../ui/toast.tsx";
import { type BulkOutcome, type BulkTask, type BulkVerb, toOutcome, undoOf } from "./bulk.ts";

export type BulkReport = BulkOutcome & { verb: BulkVerb };

/**
 * Returns a mutation that runs a task on several links, fetches the links again, and reports the
 * outcome: as a toast, with an undo where possible, or to `onReport` if some failed. If the whole
 * task fails, shows a toast, unless the caller shows `error`.
 */
export function useBulkTask(
  onReport: (report: BulkReport) => void,
  { showsError = false }: { showsError?: boolean } = {},
) {
  const { scope } = useAccountContext();
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState<BulkProgress>();
  const mutation = useMutation({
    gcTime: 0,
    mutationFn: (task: BulkTask) => runTask(scope, task, setProgress),
    async onSettled() {
      setProgress(undefined);
      // Also after a failure: a request may have succeeded although its response was lost.
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ["links", scope] }),
        queryClient.invalidateQueries({ queryKey: ["link", scope] }),
        queryClient.invalidateQueries({ queryKey: ["tags", scope] }),
      ]);
    },
    onSuccess(outcome, task) {
      if (outcome.failed.length > 0) {
        onReport({ ...outcome, verb: task.verb });
        return;
      }
      const undo = undoOf(task, outcome.done);
      const text = t(`links.bulk.done.${task.verb}`, { count: outcome.done.length });
      // An undo is not offered for an undo.
      const offersUndo = undo !== undefined && task.verb !== undo.verb;
      toast(
        text,
        "success",
        offersUndo
          ? { label: t("links.bulk.undo"), onSelect: () => mutation.mutate(undo) }
          : undefined,
      );
    },
    onError(error) {
      if (!showsError) toast(getErrorMessage(error), "error");
    },
  });
  return { ...mutation, progress };
}

/** How far a task is. */
type BulkProgress = { done: number; total: number };

/** What a page shows of a task that runs. */
export type BulkTaskState = { progress: BulkProgress | undefined };

/**
 * Runs a task in requests of as many links as the API takes, one after the other. Throws
 * `ShorthopError` when the first fails as a whole: the state of its links is then unknown. Once one
 * has succeeded, the links of a later one that fails, and those after it, are reported as failed.
 */
async function runTask(
  scope: AccountScope,
  { links: before, refresh, changeOf }: BulkTask,
  onProgress: (progress: BulkProgress) => void,
): Promise<BulkOutcome> {
  const { links: api } = getClient(scope, PATIENT);
  const links = refresh === undefined ? before : await refresh(before);
  // With the API's schemas, which the list itself does without.
  const { splitIntoBatches } = await import("./batches.ts");
  const outcome: BulkOutcome = { done: [], failed: [] };
  let stopReason: string | undefined;
  let sent = 0;
  for (const batch of splitIntoBatches(
    links.map((link) => ({ of: link, link: { id: link.id, ...changeOf?.(link) } })),
  )) {
    const part = batch.map(({ of }) => of);
    if (stopReason === undefined) {
      try {
        const { data } =
          changeOf === undefined
            ? await api.deleteMany(part.map(({ id }) => id))
            : await api.updateMany(batch.map(({ link }) => link));
        const { done, failed } = toOutcome(part, data);
        outcome.done.push(...done);
        outcome.failed.push(...failed);
      } catch (error) {
        if (sent === 0) throw error;
        stopReason = getErrorMessage(error);
      }
    }
    if (stopReason !== undefined) {
      for (const link of part) outcome.failed.push({ link, reason: stopReason });
    }
    sent += part.length;
    onProgress({ done: sent, total: links.length });
  }
  return outcome;
}
