/** What happened to what the account owns, newest first. */
import { ListFilter, X } from "lucide-react";
import { Link } from "wouter";

import type { LedgerEvent } from "../../../../clients/typescript/src/index.ts";
import { useAccountContext } from "../../data/session.ts";
import { fieldName } from "../../languages/fields.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { type SearchUpdate, useSearchState } from "../../ui/search-state.ts";
import { Empty, ErrorState, QueryBoundary } from "../../ui/states.tsx";
import { type ActivityFilter, useActivity, useActorNames } from "./activity-query.ts";
import { changesOf, subjectOf } from "./describe-event.ts";
import { readType, SHOWN_TYPES, typeName } from "./type-names.ts";

export function ActivityPage() {
  const { account } = useAccountContext();
  const [params, setParams] = useSearchState();
  const isOwner = account.role === "owner";
  const filter = { type: readType(params.get("type")), linkId: params.get("link") ?? undefined };
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
        {activity.isFetchNextPageError && <ErrorState error={activity.error} />}
        {activity.hasNextPage && (
          <Button
            className="load-more"
            loading={activity.isFetchingNextPage}
            onClick={() => void activity.fetchNextPage()}
          >
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

function Filters({ filter: { type, linkId }, events, onChange }: FiltersProps) {
  const subjects = events.map(subjectOf);
  // A link that is not among the events has no name here.
  const name = subjects.find((subject) => subject?.linkId === linkId)?.name ?? linkId ?? "";
  return (
    <div className="activity-filters" role="group" aria-label={t("activity.filters")}>
      <SelectField
        label={t("activity.type")}
        options={[
          { value: "", label: t("activity.allTypes") },
          ...SHOWN_TYPES.map((value) => ({ value, label: typeName(value) })),
        ]}
        value={type ?? ""}
        onChange={({ target }) => onChange({ type: target.value })}
      />
      {linkId !== undefined && (
        <span className="chip">
          {t("activity.link")} <strong>{name}</strong>
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

type RowsProps = { events: readonly LedgerEvent[]; onLink: OnLink };

function EventRows({ events, onLink }: RowsProps) {
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
