/** Shows the account's ledger of events, newest first: who did what, and which fields changed. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { ListFilter, X } from "lucide-react";
import { Link } from "wouter";
import * as z from "zod";

import type { LedgerEvent, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import {
  AUDIT_TYPE_NAMES,
  EVENT_TYPE_NAMES,
  type LedgerType,
} from "../../../../shared/contracts/webhook-schemas.ts";
import { useActors } from "../../data/account-lists.ts";
import { getClient, saveFile } from "../../data/http.ts";
import type { AccountScope, SearchUpdate } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { fieldName } from "../../languages/errors.ts";
import { findText, t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";

export function ActivityPage() {
  const { account } = useAccountContext();
  const [params, setParams] = useSearchState();
  const isOwner = account.role === "owner";
  const filter = {
    type: SHOWN_TYPES.find((type) => type === params.get("type")),
    linkId: params.get("link") ?? undefined,
    actorId: params.get("actor") ?? undefined,
  };
  const activity = useActivity(filter, isOwner);
  if (!isOwner) return <Empty title={t("activity.forOwners")} />;
  const events = activity.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page title={t("shell.pages.activity")} intro={t("activity.intro")}>
      <Filters filter={filter} events={events} onChange={setParams} />
      <Card>
        <QueryBoundary query={activity} label={t("shell.pages.activity")} lines={8}>
          {() =>
            events.length === 0 && !activity.hasNextPage ? (
              <Empty title={t("activity.empty")}>
                <p>{t("activity.emptyHint")}</p>
              </Empty>
            ) : (
              <EventRows
                events={events}
                onLink={filter.linkId === undefined ? (link) => setParams({ link }) : undefined}
              />
            )
          }
        </QueryBoundary>
        {activity.hasNextPage && (
          <Button className="load-more" onClick={() => activity.fetchNextPage()}>
            {t("activity.more")}
          </Button>
        )}
      </Card>
    </Page>
  );
}

type FiltersProps = {
  filter: ActivityFilter;
  events: readonly LedgerEvent[];
  onChange: (update: SearchUpdate) => void;
};

function Filters({ filter, events, onChange }: FiltersProps) {
  const { type, linkId, actorId } = filter;
  const { scope } = useAccountContext();
  const actors = useActors();
  const subjects = events.map(subjectOf);
  // A link that is not among the events has no name here.
  const name = subjects.find((subject) => subject?.linkId === linkId)?.name ?? linkId ?? "";
  return (
    <div className="activity-filters" role="group" aria-label={t("analytics.filters.title")}>
      <SelectField
        label={t("webhooks.event")}
        options={[
          { value: "", label: t("activity.allTypes") },
          ...SHOWN_TYPES.map((value) => ({ value, label: typeName(value) })),
        ]}
        value={type ?? ""}
        onChange={({ target }) => onChange({ type: target.value })}
      />
      <SelectField
        label={t("activity.actor")}
        options={[
          { value: "", label: t("activity.allActors") },
          ...actors.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={actorId ?? ""}
        onChange={({ target }) => onChange({ actor: target.value })}
      />
      <Button onClick={() => saveEvents(scope, filter)}>{t("activity.export")}</Button>
      {linkId !== undefined && (
        <span className="chip">
          {t("fields.link")} <strong>{name}</strong>
          <IconButton
            label={t("activity.allLinks", { name })}
            onClick={() => onChange({ link: undefined })}
          >
            <X aria-hidden />
          </IconButton>
        </span>
      )}
    </div>
  );
}

/** Undefined where one link is selected already. */
type OnLink = ((id: string) => void) | undefined;

function EventRows({ events, onLink }: { events: readonly LedgerEvent[]; onLink: OnLink }) {
  const nameOf = useActorNames();
  return (
    <ul className="rows activity">
      {events.map((event) => (
        <li key={event.id}>
          <div className="activity-event">
            <strong>{typeName(event.type)}</strong> <EventSubject event={event} onLink={onLink} />
            <Changes event={event} />
          </div>
          <div className="activity-origin">
            <time dateTime={event.created_at}>{formatDateTime(event.created_at)}</time>
            <span className="hint">{nameOf(event.actor)}</span>
            {event.origin && <span className="hint">{event.origin.network}</span>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function EventSubject({ event, onLink }: { event: LedgerEvent; onLink: OnLink }) {
  const subject = subjectOf(event);
  if (subject === undefined) return null;
  const { name, detail, path, linkId } = subject;
  return (
    <>
      {path === undefined ? name : <Link href={path}>{name}</Link>}
      {linkId !== undefined && onLink !== undefined && (
        <IconButton label={t("activity.onlyLink", { name })} onClick={() => onLink(linkId)}>
          <ListFilter aria-hidden />
        </IconButton>
      )}
      {detail !== undefined && <div className="hint">{detail}</div>}
    </>
  );
}

function Changes({ event }: { event: LedgerEvent }) {
  const changes = changesOf(event);
  if (changes.length === 0) return null;
  return (
    <dl className="changes">
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          <dt>{fieldName(field)}</dt>
          <dd>
            <del>
              <span className="visually-hidden">{t("activity.before")} </span>
              {before}
            </del>{" "}
            <span aria-hidden>→</span>{" "}
            <ins>
              <span className="visually-hidden">{t("activity.after")} </span>
              {after}
            </ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const PAGE_EVENTS = 50;

/** Requests until one finds an event: each examines some thousands. */
const REQUESTS_MAX = 10;

type EventList = ResponseBody<"listEvents">;

type ActivityFilter = {
  type: ShownType | undefined;
  linkId: string | undefined;
  actorId: string | undefined;
};

/** Queries the events that match, newest first, page by page. */
function useActivity(filter: ActivityFilter, enabled: boolean) {
  const { scope } = useAccountContext();
  return useInfiniteQuery({
    queryKey: ["events", scope, filter],
    enabled,
    // What somebody has just done on another page is among them.
    staleTime: 0,
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }): Promise<EventList> => {
      let after = pageParam;
      for (let requests = 1; ; requests++) {
        const query = { ...queryOf(filter, after), limit: PAGE_EVENTS };
        const page = await getClient(scope).events.list(query, { signal });
        if (page.data.length > 0 || !page.has_more || requests === REQUESTS_MAX) return page;
        after = page.next_cursor;
      }
    },
    getNextPageParam: ({ has_more, next_cursor }) => (has_more ? next_cursor : undefined),
  });
}

/** The query for the events that match, newest first, before a cursor; "" for the newest. */
const queryOf = ({ type, linkId, actorId }: ActivityFilter, after: string) =>
  ({
    order: "desc",
    type: type === undefined ? [...SHOWN_TYPES] : [type],
    ...(linkId === undefined ? {} : { link_id: linkId }),
    ...(actorId === undefined ? {} : { actor_id: actorId }),
    ...(after === "" ? {} : { starting_after: after }),
  }) as const;

/** Events of a request of an export, and events after which it ends: the browser has them all. */
const EXPORT_PAGE_EVENTS = 100;
const EXPORTED_MAX = 100_000;

/** Saves all events that match as lines of JSON, newest first. */
async function saveEvents(scope: AccountScope, filter: ActivityFilter): Promise<void> {
  const lines: string[] = [];
  for (let after = ""; lines.length < EXPORTED_MAX;) {
    const query = { ...queryOf(filter, after), limit: EXPORT_PAGE_EVENTS };
    const page = await getClient(scope).events.list(query);
    lines.push(...page.data.map((event) => `${JSON.stringify(event)}\n`));
    if (!page.has_more) break;
    after = page.next_cursor;
  }
  saveFile(new Blob(lines, { type: "application/x-ndjson" }), "audit.ndjson");
}

/** Returns a function that names who caused an event; an id until the names are there. */
function useActorNames(): (actor: LedgerEvent["actor"]) => string {
  const actors = useActors();
  return ({ type, id = "" }) => {
    const name = actors.find((actor) => actor.id === id)?.name ?? id;
    switch (type) {
      case "api_key":
        return t("activity.actors.key", { name });
      case "user":
        return name;
      case "operator":
        return t("activity.actors.operator");
      case "system":
        return t("activity.actors.system");
      default:
        return type;
    }
  };
}

// Events in words.

type Subject = {
  name: string;
  detail?: string | undefined;
  /** Its page, relative to the account and mode; undefined without one, or when it is gone. */
  path?: string | undefined;
  linkId?: string | undefined;
};

// Null for what a resource does not have.
const text = z.string().optional().catch(undefined);

const resource = z.looseObject({
  id: text,
  user_id: text,
  title: text,
  alias: text,
  short_url: text,
  domain: text,
  name: text,
  email: text,
  url: text,
});

type Resource = z.output<typeof resource>;

const SUBJECTS: Readonly<Record<string, (resource: Resource) => Subject>> = {
  link: ({ id, title, alias, short_url }) => ({
    name: short_url === undefined ? (alias ?? "") : readableUrl(short_url),
    detail: title,
    path: `/links/${id}`,
  }),
  domain: ({ domain }) => ({ name: domain ?? "", path: "/domains" }),
  key: ({ name }) => ({ name: name ?? "", path: "/settings/keys" }),
  member: ({ name, email }) => ({ name: name ?? "", detail: email, path: "/settings/members" }),
  share: ({ name, id }) => ({ name: name ?? id ?? "" }),
  webhook: ({ id, url }) => ({ name: url ?? "", path: `/webhooks/${id}` }),
  report: ({ name }) => ({ name: name ?? "", path: "/reports" }),
  invitation: ({ email }) => ({ name: email ?? "", path: "/settings/members" }),
  user: ({ name, email }) => ({ name: name ?? "", detail: email, path: "/settings/members" }),
  view: ({ name }) => ({ name: name ?? "" }),
  tag: ({ name }) => ({ name: name ?? "", path: "/tags" }),
  account: () => ({ name: "" }),
};

/** Types after which there is nothing to look at any more. */
const GONE = new Set([
  "link.deleted",
  "domain.deleted",
  "member.removed",
  "share.revoked",
  "webhook.deleted",
  "report.deleted",
]);

/** Returns what an event is about; undefined if the page does not know it. */
export function subjectOf({ type, data }: LedgerEvent): Subject | undefined {
  for (const [kind, describe] of Object.entries(SUBJECTS)) {
    const { success, data: found } = resource.safeParse(data[kind]);
    if (!success) continue;
    const subject = describe(found);
    return {
      ...subject,
      path: GONE.has(type) ? undefined : subject.path,
      linkId: kind === "link" ? found.id : undefined,
    };
  }
  return undefined;
}

type Change = { field: string; before: string; after: string };

const changes = z
  .record(z.string(), z.object({ before: z.unknown(), after: z.unknown() }))
  .catch({});

/** The fields that an event changed, with values to read. */
export const changesOf = ({ data }: LedgerEvent): Change[] =>
  Object.entries(changes.parse(data["changes"])).map(([field, { before, after }]) => ({
    field,
    before: formatValue(before),
    after: formatValue(after),
  }));

const VALUE_LENGTH_MAX = 200;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return t(value ? "activity.yes" : "activity.no");
  if (typeof value === "string" && INSTANT.test(value)) return formatDateTime(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return shorten(value.join(", ") || "–");
  return shorten(typeof value === "string" ? value : JSON.stringify(value));
}

const shorten = (long: string): string =>
  long.length > VALUE_LENGTH_MAX ? `${long.slice(0, VALUE_LENGTH_MAX).toWellFormed()}…` : long;

/**
 * The types that the page shows: what people and programs did, and what happened as time passed.
 * Clicks are statistics, and have pages of their own.
 */
type ShownType = Exclude<LedgerType, "clicks.recorded">;

const SHOWN_TYPES: readonly ShownType[] = [...EVENT_TYPE_NAMES, ...AUDIT_TYPE_NAMES].filter(
  (type) => type !== "clicks.recorded",
);

/** The name of a type; one that the page does not know is shown as it is. */
export const typeName = (type: string): string => findText(`activity.types.${type}`) ?? type;
