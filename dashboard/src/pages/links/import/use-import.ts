/** The state of an import: the file, what becomes of its columns, the check, and the run. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { findField, type Mapping } from "../../../../../shared/link-csv/fields.ts";
import type { FileRow } from "../../../../../shared/link-csv/file.ts";
import { listHosts, suggestReading } from "../../../../../shared/link-csv/row.ts";
import { suggestMapping } from "../../../../../shared/link-csv/services.ts";
import { useAccountContext } from "../../../data/session.ts";
import { getErrorMessage } from "../../../languages/errors.ts";
import { checkItems, importItems, type ImportProgress } from "./import-run.ts";
import { type DomainChoice, type ImportChoices, type ImportItem, type PlanInput } from "./model.ts";
import { planRows } from "./plan.ts";
import { type ImportFile, readImportFile } from "./read-file.ts";

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
  const [chosen, setChosen] = useState<ChosenFile>();
  const [error, setError] = useState<string>();
  const [stage, setStage] = useState<Stage>({ name: "map" });
  const check = useCheck(setStage);
  const run = useRun(setStage);

  async function selectFile(selected: File | undefined): Promise<void> {
    check.cancel();
    setChosen(undefined);
    setError(undefined);
    setStage({ name: "map" });
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
    check.cancel();
    setStage({ name: "map" });
    setChosen(chosen === undefined ? undefined : { ...chosen, ...changes });
  }

  return {
    chosen,
    error,
    stage,
    selectFile,
    change,
    check: (file: ChosenFile) => check.start(file.file, toPlanInput(file, hosts)),
    cancelCheck: () => {
      check.cancel();
      setStage({ name: "map" });
    },
    start: run.start,
    stop: run.stop,
  };
}

/** Plans all rows, and checks their links with the service. */
function useCheck(setStage: (stage: Stage) => void) {
  const { scope } = useAccountContext();
  const controller = useRef<AbortController>(undefined);
  return {
    cancel: () => controller.current?.abort(),
    async start({ rows }: ImportFile, input: PlanInput): Promise<void> {
      const { signal } = (controller.current = new AbortController());
      setStage({ name: "checking", done: 0, total: rows.length });
      try {
        const planned = await planRows(rows, input, signal);
        let done = planned.filter(({ problem }) => problem !== undefined).length;
        const onProgress = (checked: number): void => {
          done += checked;
          setStage({ name: "checking", done, total: planned.length });
        };
        const items = await checkItems(scope, planned, onProgress, signal);
        if (!signal.aborted) setStage({ name: "checked", items });
      } catch (error) {
        if (!signal.aborted) setStage({ name: "map", error: getErrorMessage(error) });
      }
    },
  };
}

/** Creates the links. */
function useRun(setStage: (stage: Stage) => void) {
  const { scope } = useAccountContext();
  const queryClient = useQueryClient();
  const isStopped = useRef(false);
  return {
    stop: () => {
      isStopped.current = true;
    },
    async start(items: readonly ImportItem[]): Promise<void> {
      isStopped.current = false;
      const onProgress = (progress: ImportProgress): void =>
        setStage({ name: "importing", items, progress });
      await importItems(scope, items, onProgress, () => isStopped.current);
      await Promise.all(
        ["links", "tags", "limits"].map((name) =>
          queryClient.invalidateQueries({ queryKey: [name, scope] }),
        ),
      );
    },
  };
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
