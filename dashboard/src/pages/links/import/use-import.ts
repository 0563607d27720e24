/** The state of an import: the file, what becomes of its columns, the check, and the run. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { getErrorMessage } from "../../../data/errors.ts";
import { useAccountContext } from "../../../data/session.ts";
import { checkItems } from "./check-run.ts";
import { type Mapping } from "./fields.ts";
import { importItems, type ImportProgress } from "./import-run.ts";
import type { ImportItem, ImportOptions, PlanInput } from "./model.ts";
import { planRows } from "./plan-file.ts";
import { type ImportFile, readImportFile } from "./read-file.ts";
import { suggestMapping } from "./services.ts";
import { suggestOptions } from "./suggest-options.ts";

/** How far an import is. Changing a column or an option returns to `map`. */
export type Stage =
  | { name: "map"; error?: string }
  | { name: "checking"; done: number; total: number }
  | { name: "checked"; items: readonly ImportItem[] }
  | { name: "importing"; items: readonly ImportItem[]; progress: ImportProgress };

/** A file with what the user has chosen for it. */
export type ChosenFile = { file: ImportFile; mapping: Mapping; options: ImportOptions };

export const toPlanInput = (
  { file: { columns, isEscaped }, mapping, options }: ChosenFile,
  hosts: PlanInput["hosts"],
): PlanInput => ({ columns, isEscaped, mapping, options, hosts, now: Date.now() });

export type Import = ReturnType<typeof useImport>;

export function useImport(hosts: PlanInput["hosts"]) {
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

  function change(changes: Partial<Pick<ChosenFile, "mapping" | "options">>): void {
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
