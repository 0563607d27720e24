/**
 * Changes of several links at once. Each succeeds or fails separately, and its outcome is reported.
 */
import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { translateService } from "../../languages/service.ts";
import { t } from "../../languages/translate.ts";

/** What an action has done with links; the texts of its report have these names. */
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
  /** For the report: `3 links archived`. */
  verb: BulkVerb;
};

/** What can be changed of one of many links. */
type ManyChange = LinkChange & { domain?: string | null };

type BulkFailure = { link: Link; reason: string };

export type BulkOutcome = { done: Link[]; failed: BulkFailure[] };

type Entry = { index: number; error?: { message: string } };

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
      const message = entry?.error?.message;
      const reason =
        message === undefined ? t("links.bulk.unknownOutcome") : translateService(message);
      outcome.failed.push({ link, reason });
    }
  }
  return outcome;
}

/** The values of settings that are absent while off. */
const OFF: Readonly<Record<string, unknown>> = {
  domain: null,
  archived: false,
  disabled: false,
  expires_at: null,
  tags: [],
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_term: null,
  utm_content: null,
};

/** What a link had before a change of the field. */
const valueBefore = (link: Link, field: string): unknown =>
  field === "url" ? link.original_url : (Reflect.get(link, field) ?? OFF[field]);

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
