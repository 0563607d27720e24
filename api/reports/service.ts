/** Reports: creating and changing them, and making one on request. */
import { DEFAULT_HOUR } from "../../shared/contracts/report-schemas.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { parseZone } from "../analytics/period.ts";
import { recordEvents } from "../events/record.ts";
import { presentFields } from "../http/common-schemas.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import type { AccountScope, Author, Principal } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import type { LinkService } from "../links/service.ts";
import { requireShortUrl } from "../links/short-url.ts";
import { OwnedService } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type ReportMaker, reportRows, runColumns } from "./maker.ts";
import {
  type NewReportBody,
  nextDue,
  type ReportFields,
  type ReportRow,
  type RunRow,
  type UpdateReportBody,
} from "./model.ts";

/** Maximum reports of an account and mode. */
const REPORTS_MAX = 20;

const RUNS_LISTED = 20;

/** The caller. Nobody can have reports made of what they may not read. */
type Caller = Author & { scopes: readonly string[] };

const DEFAULTS = {
  tag: null,
  link_id: null,
  hour: DEFAULT_HOUR,
  timezone: "UTC",
  language: "en",
} as const;

export class ReportService extends OwnedService<ReportRow> {
  readonly #sql: Sql;
  readonly #links: LinkService;
  readonly #maker: ReportMaker;

  constructor(sql: Sql, links: LinkService, maker: ReportMaker) {
    super(sql, reportRows);
    this.#sql = sql;
    this.#links = links;
    this.#maker = maker;
  }

  /**
   * Creates a report. Throws `forbidden` to a caller who may not read what it is about, `not_found`
   * for a link that the owner does not have, `invalid_request`, `quota_exceeded`, and `unavailable`
   * for recipients where no mails are sent.
   */
  async create(
    owner: Caller,
    id: Uuid,
    { emails = [], ...body }: NewReportBody,
  ): Promise<ReportRow> {
    requireReader(owner);
    const change = await this.#readFields(owner, body);
    const report = { ...DEFAULTS, ...change, name: body.name, period: body.period };
    requireOneSubject(report);
    const dueAt = new Date(nextDue(report, Date.now()));
    const recipients = await this.#findRecipients(owner, emails);
    return await this.#sql.begin(async (transaction) => {
      await reportRows.requireRoom(transaction, owner, REPORTS_MAX);
      // An earlier attempt of the same request may have inserted it.
      await transaction`
        insert into reports (id, account_id, mode, name, tag, link_id, period, hour, timezone, language, due_at)
        values (${id}, ${owner.accountId}, ${owner.mode}, ${report.name}, ${report.tag}, ${report.link_id},
                ${report.period}, ${report.hour}, ${report.timezone}, ${report.language}, ${dueAt})
        on conflict (id) do update set due_at = excluded.due_at`;
      await replaceRecipients(transaction, { id, account_id: owner.accountId }, recipients);
      const row = await reportRows.get(transaction, owner, id);
      await recordReport(transaction, owner, "report.created", row);
      return row;
    });
  }

  /** Changes the fields in the body; throws as `create`, and `not_found`. */
  async update(
    owner: Caller,
    id: Uuid | undefined,
    { status, emails, ...body }: UpdateReportBody,
  ): Promise<ReportRow> {
    requireReader(owner);
    const change = await this.#readFields(owner, body);
    const recipients = emails === undefined ? undefined : await this.#findRecipients(owner, emails);
    return await this.#sql.begin(async (transaction) => {
      const old = await reportRows.lock(transaction, owner, id);
      const { name, tag, link_id, period, hour, timezone, language } = { ...old, ...change };
      const fields = { name, tag, link_id, period, hour, timezone, language };
      requireOneSubject(fields);
      const next = { ...fields, status: status ?? old.status, due_at: dueAfter(old, fields) };
      await transaction`
        update reports set ${transaction({ ...next, updated_at: new Date() })} where id = ${old.id}`;
      if (recipients !== undefined) await replaceRecipients(transaction, old, recipients);
      const row = await reportRows.get(transaction, owner, old.id);
      await recordReport(transaction, owner, "report.updated", row);
      return row;
    });
  }

  /** Deletes a report with its runs; throws `not_found`. */
  async remove(owner: Author, id: Uuid | undefined): Promise<void> {
    await this.#sql.begin(async (sql) => {
      const row = await reportRows.delete(sql, owner, id);
      await recordReport(sql, owner, "report.deleted", row);
    });
  }

  /** Lists the newest runs of a report; throws `not_found`. */
  async listRuns(owner: AccountScope, id: Uuid | undefined): Promise<RunRow[]> {
    const report = await this.get(owner, id);
    const sql = this.#sql;
    return await sql<RunRow[]>`
      select ${runColumns(sql)} from report_runs
       where report_id = ${report.id} order by created_at desc, id desc limit ${RUNS_LISTED}`;
  }

  /**
   * Makes a report of the last period that is over, also of one of which it was made. Throws
   * `not_found`, `forbidden` and `rate_limited`.
   */
  async send(owner: Principal, id: Uuid | undefined): Promise<RunRow> {
    const report = await this.get(owner, id);
    requireReader(owner);
    budgets.take(owner, "requested_reports", 1);
    return await this.#maker.makeRequested(report, owner.actor);
  }

  /** Converts the fields of a request. Throws `invalid_request`, and `not_found` for a link. */
  async #readFields(
    owner: AccountScope,
    { link_id, short_url, timezone, ...body }: Omit<UpdateReportBody, "status" | "emails">,
  ): Promise<Partial<ReportFields>> {
    return presentFields({
      ...body,
      link_id: await this.#readLink(owner, link_id, short_url),
      timezone: timezone === undefined ? undefined : parseZone(timezone),
    });
  }

  /** The id of the link that a request names; null for none, undefined if it says nothing. */
  async #readLink(
    owner: AccountScope,
    id: string | null | undefined,
    shortUrl: string | null | undefined,
  ): Promise<Uuid | null | undefined> {
    if (typeof id === "string" && typeof shortUrl === "string")
      throw invalidField("short_url", "cannot be used with link_id");
    if (typeof id === "string") return (await this.#links.find(owner, decodeId("link", id))).id;
    if (typeof shortUrl === "string")
      return (await this.#links.findByName(owner, requireShortUrl(shortUrl))).id;
    return id === undefined ? shortUrl : id;
  }

  /**
   * The users of addresses, who must be members with confirmed ones: so that nobody can have this
   * installation mail strangers. An invitation does not confirm an address.
   */
  async #findRecipients({ accountId }: AccountScope, emails: readonly string[]): Promise<Uuid[]> {
    if (emails.length === 0) return [];
    if (!this.#maker.sendsMails)
      throw new ApiError("unavailable", "This installation sends no mails: SMTP_URL is not set.");
    const wanted = new Set(emails.map((address) => address.toLowerCase()));
    const found = await this.#sql<{ user_id: Uuid; email: string }[]>`
      select member.user_id, users.email as email
        from members member join users on users.id = member.user_id
       where member.account_id = ${accountId} and users.email_verified
         and users.email = any (${[...wanted]}::text[])`;
    const known = new Set(found.map(({ email }) => email));
    if ([...wanted].some((address) => !known.has(address)))
      throw invalidField("emails", "must be confirmed addresses of members of the account");
    return found.map(({ user_id }) => user_id);
  }
}

/** Makes users the recipients of a report, in place of others. */
async function replaceRecipients(
  transaction: Transaction,
  { id, account_id }: { id: Uuid; account_id: Uuid },
  userIds: readonly Uuid[],
): Promise<void> {
  await transaction`
    delete from report_recipients where report_id = ${id} and not user_id = any (${[...userIds]}::uuid[])`;
  await transaction`
    insert into report_recipients (report_id, account_id, user_id)
    select ${id}, member.account_id, member.user_id from members member
     where member.account_id = ${account_id} and member.user_id = any (${[...userIds]}::uuid[])
    on conflict do nothing`;
}

const recordReport = (
  sql: Transaction,
  owner: Author,
  type: "report.created" | "report.updated" | "report.deleted",
  { id, name, period, status }: ReportRow,
): Promise<void> =>
  recordEvents(sql, owner, [
    { type, objectId: id, data: { report: { id: encodeId("rpt", id), name, period, status } } },
  ]);

/** When a changed report is due: one that is due already stays so. */
function dueAfter(old: ReportRow, next: ReportFields): Date {
  const now = Date.now();
  const isWaiting = old.status === "active" && old.due_at.getTime() <= now;
  return isWaiting ? old.due_at : new Date(nextDue(next, now));
}

function requireReader({ scopes }: Caller): void {
  if (scopes.includes("analytics:read") && scopes.includes("links:read")) return;
  throw new ApiError(
    "forbidden",
    'Reports contain statistics and links: the scopes "analytics:read" and "links:read" are required as well.',
  );
}

function requireOneSubject({ tag, link_id }: ReportFields): void {
  if (tag !== null && link_id !== null)
    throw invalidField("tag", "cannot be used with a link: a report is about one of them");
}
