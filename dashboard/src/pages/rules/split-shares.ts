/** The split of a link: the shares as they are set, and the shares of the clicks it had. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";

export type Counts = ResponseBody<"getLinkTargets">["data"][number];

/** The typed text may not be a number yet. */
export const toWeight = (text: string): number =>
  Math.max(0, Math.min(100, Math.floor(Number(text)) || 0));

/** The letter of a version: A for the link's own destination, then by their order. */
export const letterOf = (position: number): string => String.fromCharCode(65 + position);

/** What a version is called: by its label, or else by its letter. */
export const versionName = (label: string | undefined, position: number): string =>
  label?.trim() || t("rules.version", { letter: letterOf(position) });

/**
 * Of the clicks that the split has decided, the percentage of one version, with one decimal: those
 * of rules are none of them, nor those of versions that the split no longer has.
 */
export function shareOfSplit(
  target: Counts,
  targets: readonly Counts[],
  armIds: ReadonlySet<string>,
): number {
  const isOfSplit = ({ kind, id }: Counts) =>
    kind === "default" || (kind === "arm" && typeof id === "string" && armIds.has(id));
  const all = targets.filter(isOfSplit).reduce((sum, { clicks }) => sum + clicks, 0);
  return all === 0 ? 0 : Math.round((target.clicks / all) * 1_000) / 10;
}
