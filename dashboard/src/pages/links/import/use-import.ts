/** The state of an import: the file, what becomes of its columns, the check, and the run. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { splitIntoChunks } from "../../../../../clients/typescript/src/calls.ts";
import type { Link } from "../../../../../clients/typescript/src/index.ts";
import { findField, type Mapping } from "../../../../../shared/link-csv/fields.ts";
import type { FileRow } from "../../../../../shared/link-csv/file.ts";
import { listHosts, suggestReading } from "../../../../../shared/link-csv/row.ts";
import { suggestMapping } from "../../../../../shared/link-csv/services.ts";
import { getClient, PATIENT } from "../../../data/http.ts";
import type { AccountScope } from "../../../data/scope.ts";
import { checkSession, SESSION_KEY, useAccountContext } from "../../../data/session.ts";
import {
  describeError,
  getErrorMessage,
  isRateLimited,
  isSignedOut,
} from "../../../languages/errors.ts";
import { t } from "../../../languages/translate.ts";
import {
  type DomainChoice,
  type ImportChoices,
  type ImportFile,
  type ImportItem,
  type PlanInput,
  planRows,
  type Problem,
  type ProblemKind,
  readImportFile,
} from "./plan.ts";

/** How far an import is. Changing a column or an option returns to `map`. */
type Stage =
  | { name: "map"; error?: string }
  | { name: "checking"; done: number; total: number }
  | { name: "checked"; items: readonly ImportItem[] }
  | { name: "importing"; items: readonly ImportItem[]; progress: ImportProgress };

/** A file with what the user has chosen for it. */
export type ChosenFile = { file: ImportFile; mapping: Mapping; options: ImportChoices };

export const toPlanInput = (
  { file: { columns, isEscaped }, mapping, options }: ChosenFile,
  hosts: PlanInput["hosts"],
): PlanInput => ({ columns, isEscaped, mapping, options, hosts, now: Date.now() });

/** An import, and what the user can do with it. */
export type Import = {
  chosen: ChosenFile | undefined;
  /** Why the chosen file cannot be read. */
  error: string | undefined;
  stage: Stage;
  selectFile: (selected: File | undefined) => Promise<void>;
  change: (changes: Partial<Omit<ChosenFile, "file">>) => void;
  check: (file: ChosenFile) => Promise<void>;
  cancelCheck: () => void;
  start: (items: readonly ImportItem[]) => Promise<void>;
  stop: () => void;
};

export function useImport(hosts: PlanInput["hosts"]): Import {
  const { scope } = useAccountContext();
  const queryClient = useQueryClient();
  const [chosen, setChosen] = useState<ChosenFile>();
  const [error, setError] = useState<string>();
  const [stage, setStage] = useState<Stage>({ name: "map" });
  const checking = useRef<AbortController>(undefined);
  const isStopped = useRef(false);

  /** Ends a check: its results would be of another choice. */
  function cancelCheck(): void {
    checking.current?.abort();
    setStage({ name: "map" });
  }

  async function selectFile(selected: File | undefined): Promise<void> {
    cancelCheck();
    setChosen(undefined);
    setError(undefined);
    if (selected === undefined) return;
    const file = await readImportFile(selected);
    if ("problem" in file) {
      setError(file.problem);
      return;
    }
    const mapping = suggestMapping(file.columns, file.service);
    setChosen({ file, mapping, options: suggestOptions(file, mapping, hosts) });
  }

  function change(changes: Partial<Omit<ChosenFile, "file">>): void {
    cancelCheck();
    setChosen(chosen === undefined ? undefined : { ...chosen, ...changes });
  }

  /** Plans all rows, and checks their links with the service. */
  async function check(file: ChosenFile): Promise<void> {
    const { signal } = (checking.current = new AbortController());
    const { rows } = file.file;
    setStage({ name: "checking", done: 0, total: rows.length });
    try {
      const planned = await planRows(rows, toPlanInput(file, hosts), signal);
      let done = planned.filter(({ problem }) => problem !== undefined).length;
      const onProgress = (checked: number): void => {
        done += checked;
        setStage({ name: "checking", done, total: planned.length });
      };
      const items = await checkItems(scope, planned, onProgress, signal);
      if (!signal.aborted) setStage({ name: "checked", items });
    } catch (error) {
      if (signal.aborted) return;
      checkSession(queryClient, error);
      setStage({ name: "map", error: getErrorMessage(error) });
    }
  }

  async function start(items: readonly ImportItem[]): Promise<void> {
    isStopped.current = false;
    const onProgress = (progress: ImportProgress): void =>
      setStage({ name: "importing", items, progress });
    await importItems(scope, items, onProgress, () => isStopped.current);
    await Promise.all(
      ["links", "tags", "limits", ...SESSION_KEY].map((name) =>
        queryClient.invalidateQueries({ queryKey: [name] }),
      ),
    );
  }

  const stop = () => {
    isStopped.current = true;
  };
  return { chosen, error, stage, selectFile, change, check, cancelCheck, start, stop };
}

export const suggestOptions = (
  file: ImportFile,
  mapping: Mapping,
  hosts: PlanInput["hosts"],
): ImportChoices => ({
  // Our own export says of each link which domain it is on.
  domain:
    file.service?.isEscaped === true ? { from: "file" } : suggestDomain(file.rows, mapping, hosts),
  ...suggestReading(file, mapping),
  tags: "",
});

/**
 * The domains of the file if one of them is the account's own, because only then can the others be
 * recognized.
 */
function suggestDomain(
  rows: readonly FileRow[],
  mapping: Mapping,
  { own, domains }: PlanInput["hosts"],
): DomainChoice {
  const isKnown = rows.some(({ cells }) =>
    listHosts((field) => cells[findField(mapping, field)]?.trim() ?? "").some(
      (host) => host === own || domains.has(host),
    ),
  );
  return isKnown ? { from: "file" } : { domain: "" };
}

// Runs an import: checks the links with the service, creates them in bulk, and reports which were
// not created, and why.

/** A link that was not imported. */
export type FailedItem = ImportItem & { problem: Problem };

export type ImportProgress = {
  /** Unix milliseconds. */
  startedAt: number;
  done: number;
  created: readonly Link[];
  failed: readonly FailedItem[];
  ended: boolean;
  /** Why the import ended before all links were sent. */
  stopReason?: string;
};

/** The links that an import would not send. */
export const listFailed = (items: readonly ImportItem[]): FailedItem[] =>
  items.flatMap(({ problem, ...item }) => (problem === undefined ? [] : [{ ...item, problem }]));

/**
 * Creates the links that have no problem, in batches. Stops when `isStopped`, or when the daily
 * quota of links is exhausted or the session ends: the remaining links have failed then, and can be
 * imported later.
 */
async function importItems(
  scope: AccountScope,
  items: readonly ImportItem[],
  onProgress: (progress: ImportProgress) => void,
  isStopped: () => boolean,
): Promise<void> {
  const { links } = getClient(scope, PATIENT);
  const failed = listFailed(items);
  const startedAt = Date.now();
  let done = failed.length;
  const created: Link[] = [];
  let stopReason: string | undefined;
  const fail = (batch: readonly ImportItem[], problem: Problem): void => {
    for (const item of batch) failed.push({ ...item, problem });
  };
  const report = (ended: boolean): void =>
    onProgress({
      startedAt,
      done,
      created,
      failed: ended ? failed.toSorted((a, b) => a.index - b.index) : failed,
      ended,
      ...(stopReason === undefined ? {} : { stopReason }),
    });

  report(false);
  const possible = items.filter(({ problem }) => problem === undefined);
  for (const batch of splitIntoChunks(possible, ({ link }) => link)) {
    if (stopReason === undefined && isStopped()) stopReason = t("import.reasons.stopped");
    if (stopReason !== undefined) {
      fail(batch, { kind: "not_sent", message: stopReason });
      continue;
    }
    try {
      const response = await links.createMany(batch.map(({ link }) => link));
      for (const entry of response.data) {
        const item = batch[entry.index];
        if ("link" in entry) created.push(entry.link);
        if (item === undefined || !("error" in entry)) continue;
        const { code } = entry.error;
        const message = describeError(entry.error);
        if (code === "rate_limited") stopReason = message;
        fail([item], { kind: code === "rate_limited" ? "not_sent" : kindOfCode(code), message });
      }
    } catch (error) {
      const message = getErrorMessage(error);
      if (isRateLimited(error) || isSignedOut(error)) stopReason = message;
      fail(batch, { kind: "not_sent", message });
    }
    done += batch.length;
    report(false);
  }
  report(true);
}

/** Errors of the API that have a kind of their own. */
const KINDS: ReadonlyMap<string, ProblemKind> = new Map([
  ["alias_taken", "alias_taken"],
  ["invalid_alias", "invalid_alias"],
  ["invalid_url", "invalid_url"],
]);

const kindOfCode = (code: string): ProblemKind => KINDS.get(code) ?? "rejected";

/**
 * Returns the links with what the service says of those without a problem. Throws `ShorthopError`;
 * rejects when the signal is aborted.
 */
async function checkItems(
  scope: AccountScope,
  items: readonly ImportItem[],
  onProgress: (checked: number) => void,
  signal: AbortSignal,
): Promise<ImportItem[]> {
  const { links } = getClient(scope, PATIENT);
  const checked = new Map<ImportItem, ImportItem>();
  const possible = items.filter(({ problem }) => problem === undefined);
  for (const batch of splitIntoChunks(possible, ({ link }) => link)) {
    const { data } = await links.checkMany(
      batch.map(({ link }) => link),
      { signal },
    );
    for (const entry of data) {
      const item = batch[entry.index];
      if (item === undefined || !("error" in entry)) continue;
      const { code } = entry.error;
      checked.set(item, {
        ...item,
        problem: { kind: kindOfCode(code), message: describeError(entry.error) },
      });
    }
    onProgress(batch.length);
  }
  return items.map((item) => checked.get(item) ?? item);
}
