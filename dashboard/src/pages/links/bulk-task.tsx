/**
 * Changes several links at once. Each succeeds or fails separately, and its outcome is reported.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { splitIntoChunks } from "../../../../clients/typescript/src/calls.ts";
import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { getClient, PATIENT } from "../../data/http.ts";
import type { AccountScope } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { describeError, getErrorMessage, type ServiceError } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { toast, useToastError } from "../../ui/toast.tsx";

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
  const [progress, setProgress] = useState<TaskProgress>();
  const toastError = useToastError();
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
        offersUndo ? { label: t("ui.undo"), onSelect: () => mutation.mutate(undo) } : undefined,
      );
    },
    onError(error, { verb }) {
      // By an undo, at which the dialog is closed.
      if (!showsError || verb === "restored") toastError(error);
    },
  });
  return { ...mutation, progress };
}

type TaskProgress = { done: number; total: number };

export type BulkTaskState = { progress: TaskProgress | undefined };

/**
 * Runs a task in requests of as many links as the API takes, one after the other. Throws
 * `ShorthopError` when the first fails as a whole: the state of its links is then unknown. Once one
 * has succeeded, the links of a later one that fails, and those after it, are reported as failed.
 */
async function runTask(
  scope: AccountScope,
  { links: before, refresh, changeOf }: BulkTask,
  onProgress: (progress: TaskProgress) => void,
): Promise<BulkOutcome> {
  const { links: api } = getClient(scope, PATIENT);
  const links = refresh === undefined ? before : await refresh(before);
  const outcome: BulkOutcome = { done: [], failed: [] };
  let stopReason: string | undefined;
  let done = 0;
  const sent = links.map((link) => ({ link, change: { id: link.id, ...changeOf?.(link) } }));
  for (const chunk of splitIntoChunks(sent, ({ change }) => change)) {
    const part = chunk.map(({ link }) => link);
    if (stopReason === undefined) {
      try {
        const { data } =
          changeOf === undefined
            ? await api.deleteMany(part.map(({ id }) => id))
            : await api.updateMany(chunk.map(({ change }) => change));
        const ofPart = toOutcome(part, data);
        outcome.done.push(...ofPart.done);
        outcome.failed.push(...ofPart.failed);
      } catch (error) {
        if (done === 0) throw error;
        stopReason = getErrorMessage(error);
      }
    }
    if (stopReason !== undefined) {
      for (const link of part) outcome.failed.push({ link, reason: stopReason });
    }
    done += part.length;
    onProgress({ done, total: links.length });
  }
  return outcome;
}

/** The texts of an action's report have these names. */
export type BulkVerb =
  | "tagged"
  | "changed"
  | "deleted"
  | "archived"
  | "unarchived"
  | "enabled"
  | "disabled"
  | "restored";

/** An action on links; without `changeOf` they are deleted. */
export type BulkTask = {
  links: readonly Link[];
  /** Fetches the links again, if the change depends on their current state. */
  refresh?: (links: readonly Link[]) => Promise<readonly Link[]>;
  changeOf?: (link: Link) => ManyChange;
  verb: BulkVerb;
};

type ManyChange = LinkChange & { domain?: string | null };

type BulkOutcome = { done: Link[]; failed: { link: Link; reason: string }[] };

type Entry = { index: number; error?: ServiceError };

/**
 * Returns for each link whether it succeeded. One that the response does not mention has failed.
 */
export function toOutcome(links: readonly Link[], entries: readonly Entry[]): BulkOutcome {
  const byIndex = new Map(entries.map((entry) => [entry.index, entry]));
  const outcome: BulkOutcome = { done: [], failed: [] };
  for (const [index, link] of links.entries()) {
    const entry = byIndex.get(index);
    if (entry !== undefined && entry.error === undefined) outcome.done.push(link);
    else {
      const error = entry?.error;
      const reason = error === undefined ? t("links.bulk.unknownOutcome") : describeError(error);
      outcome.failed.push({ link, reason });
    }
  }
  return outcome;
}

/** A setting that is absent is off; so is one that is set to null. */
const valueBefore = (link: Link, field: string): unknown =>
  field === "url" ? link.original_url : (Reflect.get(link, field) ?? null);

/**
 * Returns the task that undoes a task's changes, for links as they were before it; undefined for a
 * deletion, and for a password, which nobody can read.
 */
export function undoOf({ changeOf }: BulkTask, done: readonly Link[]): BulkTask | undefined {
  if (changeOf === undefined) return undefined;
  if (done.some((link) => "password" in changeOf(link))) return undefined;
  return {
    links: done,
    verb: "restored",
    changeOf: (link) =>
      Object.fromEntries(
        Object.keys(changeOf(link)).map((name) => [name, valueBefore(link, name)]),
      ),
  };
}

/** Returns a link's tags without some, and with others appended. */
export function changeTags(
  tags: readonly string[],
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
): string[] {
  return [...new Set([...tags.filter((tag) => !remove.includes(tag)), ...add])];
}

export type BulkDialogProps = {
  links: readonly Link[];
  /** Fetches the links again, so that a change starts from their current state. */
  refresh: (links: readonly Link[]) => Promise<readonly Link[]>;
  onClose: () => void;
  /** Closes the dialog, and keeps only what failed selected. */
  onReport: (report: BulkReport) => void;
};

type BulkFormProps = BulkDialogProps & {
  title: string;
  action: string;
  /** What the form says; undefined while there is nothing to do. */
  readTask: () => BulkTask | undefined;
  children: ReactNode;
};

/** A dialog with a form that runs a task; a report replaces it if some links failed. */
export function BulkForm({ title, action, readTask, children, onClose, onReport }: BulkFormProps) {
  const running = useBulkTask(onReport, { showsError: true });
  function submit(): void {
    const task = readTask();
    if (task === undefined) return;
    running.mutate(task, {
      onSuccess: ({ failed }) => {
        if (failed.length === 0) onClose();
      },
    });
  }
  return (
    <FormDialog title={title} action={action} onSubmit={submit} onClose={onClose} task={running}>
      {children}
      <BulkProgress task={running} />
    </FormDialog>
  );
}

/** How far a task of several requests is. */
export function BulkProgress({ task: { progress } }: { task: BulkTaskState }) {
  if (progress === undefined) return null;
  const { done, total } = progress;
  return (
    <label className="progress">
      {t("links.many.progress", { done, total })}
      <progress value={done} max={total} />
    </label>
  );
}
