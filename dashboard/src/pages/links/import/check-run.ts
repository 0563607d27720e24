/** Checks the links of an import with the service, which creates none. */
import { getClient, PATIENT } from "../../../data/http.ts";
import type { AccountScope } from "../../../data/scope.ts";
import { translateService } from "../../../languages/service.ts";
import { splitIntoBatches } from "../batches.ts";
import type { ImportItem, ProblemKind } from "./model.ts";

/** Errors of the API that have a kind of their own. */
const KINDS: ReadonlyMap<string, ProblemKind> = new Map([
  ["alias_taken", "alias_taken"],
  ["invalid_alias", "invalid_alias"],
  ["invalid_url", "invalid_url"],
]);

export const kindOfCode = (code: string): ProblemKind => KINDS.get(code) ?? "rejected";

/**
 * Returns the links with what the service says of those without a problem. Throws `ShorthopError`;
 * rejects when the signal is aborted.
 */
export async function checkItems(
  scope: AccountScope,
  items: readonly ImportItem[],
  onProgress: (checked: number) => void,
  signal: AbortSignal,
): Promise<ImportItem[]> {
  const { links } = getClient(scope, PATIENT);
  const checked = new Map<ImportItem, ImportItem>();
  const possible = items.filter(({ problem }) => problem === undefined);
  for (const batch of splitIntoBatches(possible)) {
    const { data } = await links.checkMany(
      batch.map(({ link }) => link),
      { signal },
    );
    for (const entry of data) {
      const item = batch[entry.index];
      if (item === undefined || !("error" in entry)) continue;
      const { code, message } = entry.error;
      checked.set(item, {
        ...item,
        problem: { kind: kindOfCode(code), message: translateService(message) },
      });
    }
    onProgress(batch.length);
  }
  return items.map((item) => checked.get(item) ?? item);
}
