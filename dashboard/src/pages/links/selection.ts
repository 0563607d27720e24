/** The selected links of a list: those that are ticked, and those that match beyond the page. */

/** `list` identifies the displayed list: on another list nothing is selected. */
export type Selection<Link> = {
  list: string;
  ids: ReadonlySet<string>;
  /** Selected links that the page does not show, as they were when they were selected. */
  beyond: readonly Link[];
};

export const NOTHING = { list: "", ids: new Set<string>(), beyond: [] };

/** Returns the selected links: those displayed in their order, then those beyond the page. */
export function selectedOf<Link extends { id: string }>(
  { list, ids, beyond }: Selection<Link>,
  shownList: string,
  shown: readonly Link[],
): Link[] {
  if (list !== shownList) return [];
  const isShown = new Set(shown.map(({ id }) => id));
  return [...shown.filter(({ id }) => ids.has(id)), ...beyond.filter(({ id }) => !isShown.has(id))];
}

/** Selects or deselects links of a list; drops a selection of another list. */
export function select<Link extends { id: string }>(
  { list, ids, beyond }: Selection<Link>,
  shownList: string,
  changed: readonly { id: string }[],
  on: boolean,
): Selection<Link> {
  const next = new Set(list === shownList ? ids : []);
  for (const { id } of changed) {
    if (on) next.add(id);
    else next.delete(id);
  }
  return { list: shownList, ids: next, beyond: list === shownList ? beyond : [] };
}

/** Selects exactly these links, whether the page shows them or not. */
export const selectExactly = <Link extends { id: string }>(
  list: string,
  links: readonly Link[],
): Selection<Link> => ({ list, ids: new Set(links.map(({ id }) => id)), beyond: links });
