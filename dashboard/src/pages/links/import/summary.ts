/** Counts what an import would do with its rows. */
import type { ImportItem, NoteKind, ProblemKind } from "./model.ts";

export type Count<Kind> = { kind: Kind; count: number };

/** Counts the links that will not be imported by their problem, the most frequent first. */
export const countProblems = (items: readonly ImportItem[]): Count<ProblemKind>[] =>
  countKinds(items.map(({ problem }) => (problem === undefined ? [] : [problem.kind])));

/** Counts the links that will be imported otherwise than they stand in the file. */
export const countNotes = (items: readonly ImportItem[]): Count<NoteKind>[] =>
  countKinds(items.map(({ problem, notes }) => (problem === undefined ? [...new Set(notes)] : [])));

function countKinds<Kind>(kinds: readonly (readonly Kind[])[]): Count<Kind>[] {
  const counts = new Map<Kind, number>();
  for (const kind of kinds.flat()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([kind, count]) => ({ kind, count }))
    .toSorted((a, b) => b.count - a.count);
}
