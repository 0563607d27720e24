import { useMutation, useQueryClient } from "@tanstack/react-query";

import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
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
  const mutation = useMutation({
    gcTime: 0,
    mutationFn: (task: BulkTask) => runTask(scope, task),
    async onSettled() {
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
  return mutation;
}

/**
 * Runs a task. Throws `ShorthopError` when a request fails as a whole: the state of its links is
 * then unknown.
 */
async function runTask(
  scope: AccountScope,
  { links: before, refresh, changeOf }: BulkTask,
): Promise<BulkOutcome> {
  const client = getClient(scope);
  const links = refresh === undefined ? before : await refresh(before);
  const { data } =
    changeOf === undefined
      ? await client.links.deleteMany(links.map(({ id }) => id))
      : await client.links.updateMany(links.map((link) => ({ id: link.id, ...changeOf(link) })));
  return toOutcome(links, data);
}
