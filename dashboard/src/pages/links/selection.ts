/** The selected links of a list; only displayed links can be selected. */

/** `list` identifies the displayed list: on another list nothing is selected. */
export type Selection = { list: string; ids: ReadonlySet<string> };

export const NOTHING: Selection = { list: "", ids: new Set() };

/** Returns the selected links among those displayed. */
export const selectedOf = <Link extends { id: string }>(
  { list, ids }: Selection,
  shownList: string,
  shown: readonly Link[],
): Link[] => (list === shownList ? shown.filter(({ id }) => ids.has(id)) : []);

/** Selects or deselects links of a list; drops a selection of another list. */
export function select(
  { list, ids }: Selection,
  shownList: string,
  changed: readonly { id: string }[],
  on: boolean,
): Selection {
  const next = new Set(list === shownList ? ids : []);
  for (const { id } of changed) {
    if (on) next.add(id);
    else next.delete(id);
  }
  return { list: shownList, ids: next };
}
