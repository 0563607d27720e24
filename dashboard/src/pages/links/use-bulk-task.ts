import { useMutation, useQueryClient } from "@tanstack/react-query";

import { getErrorMessage } from "../../data/errors.ts";
import { type AccountScope, getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { pluralize } from "../../ui/format.ts";
import { toast } from "../../ui/toast.tsx";
import { type BulkOutcome, type BulkTask, toOutcome, undoOf } from "./bulk.ts";

export type BulkReport = BulkOutcome & { verb: string };

/**
 * Returns a mutation that does a task with several links, reads the links again, and says what became of them: as a toast
 * with an undo where there is one, or to `onReport` when some failed. A failure of the whole is a toast, unless the caller
 * shows `error`.
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
      // After a failure, too: a request may have done its work before its response was lost.
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ["links", scope] }),
        queryClient.invalidateQueries({ queryKey: ["link", scope] }),
      ]);
    },
    onSuccess(outcome, task) {
      if (outcome.failed.length > 0) {
        onReport({ ...outcome, verb: task.verb });
        return;
      }
      const undo = undoOf(task, outcome.done);
      const text = `${pluralize(outcome.done.length, "link")} ${task.verb}.`;
      // What has been undone is not undone once more.
      const offersUndo = undo !== undefined && task.verb !== undo.verb;
      toast(
        text,
        "success",
        offersUndo ? { label: "Undo", onSelect: () => mutation.mutate(undo) } : undefined,
      );
    },
    onError(error) {
      if (!showsError) toast(getErrorMessage(error), "error");
    },
  });
  return mutation;
}

/** Does a task. Throws `ShorthopError` when a request fails as a whole: then nothing is known of its links. */
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
