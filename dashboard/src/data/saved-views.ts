/**
 * Saved views: named filters, period and comparison. They are stored in this browser, by user and
 * account.
 */
import * as z from "zod";

/** Maximum views of a user and account. */
const VIEWS_MAX = 50;

const NAME_LENGTH_MAX = 100;

/** Longer than any URL that browsers send. */
const SEARCH_LENGTH_MAX = 16_000;

const savedView = z.object({
  name: z.string().min(1).max(NAME_LENGTH_MAX),
  /** The page's query, without a question mark. */
  search: z.string().max(SEARCH_LENGTH_MAX),
});

export type SavedView = z.output<typeof savedView>;

/** Validates the name of a view, in the form too. */
export const viewName = savedView.shape.name;

export type ViewOwner = { user: string; account: string };

const keyOf = ({ user, account }: ViewOwner): string => `shorthop.views.${user}.${account}`;

/** Reads the views, ordered by name; none if the storage is unreadable or has other content. */
export function readViews(owner: ViewOwner): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(owner)) ?? "[]");
    const parsed = z.array(savedView).max(VIEWS_MAX).safeParse(stored);
    return parsed.data ?? [];
  } catch {
    return [];
  }
}

/**
 * Saves a view, replacing one with its name. Returns all views; throws when there are too many, or
 * when the storage is full.
 */
export function saveView(owner: ViewOwner, view: SavedView): SavedView[] {
  const others = readViews(owner).filter(({ name }) => name !== view.name);
  if (others.length >= VIEWS_MAX) throw new Error(`There are ${VIEWS_MAX} views already.`);
  return write(
    owner,
    [...others, view].toSorted((a, b) => a.name.localeCompare(b.name)),
  );
}

/** Removes a view. Returns the remaining ones. */
export const removeView = (owner: ViewOwner, name: string): SavedView[] =>
  write(
    owner,
    readViews(owner).filter((view) => view.name !== name),
  );

function write(owner: ViewOwner, views: SavedView[]): SavedView[] {
  localStorage.setItem(keyOf(owner), JSON.stringify(views));
  return views;
}
