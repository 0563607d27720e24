/**
 * One import, from its source to links and clicks:
 *
 * 1. Links, page by page: each is checked by the rules of the API, and created unless its alias is
 *    there (`api/links/import-links.ts`).
 * 2. Visits, page by page: clicks of these links, published to workers (`clicks.ts`).
 * 3. When workers have stored them, the counters of the links (`counters.ts`).
 *
 * With each page it is written what became of it and where it ended. A run that is killed goes on
 * there: links have ids that follow from the import and their source, and segments of clicks have
 * numbers, so that what is done again changes nothing.
 */
import { truncateText } from "../../shared/bytes.ts";
import type { Click } from "../../shared/contracts/click-record.ts";
import { TAGS_MAX, TITLE_LENGTH_MAX } from "../../shared/contracts/link-schemas.ts";
import { toSingleLine, trimEach } from "../../shared/contracts/text.ts";
import { hashedUuid, type Uuid } from "../../shared/ids.ts";
import { type Author, OPERATOR } from "../http/principal.ts";
import type { ImportedLink, ImportOutcome, LinkImports } from "../links/import-links.ts";
import type { Sql } from "../postgres.ts";
import {
  type ImportSegment,
  isTime,
  type SegmentPublisher,
  toClicks,
  toSegments,
} from "./clicks.ts";
import type { ImportCounters } from "./counters.ts";
import {
  chunksOf,
  type Cursor,
  inOrder,
  type Page,
  pagesOf,
  type Source,
  type SourceLink,
  type SourceVisits,
} from "./source.ts";
import {
  findImport,
  findImportLinks,
  holdImport,
  type ImportCounts,
  type ImportLink,
  type ImportRow,
  recordLinks,
  recordPublishing,
  recordVisits,
  setImportState,
} from "./sql.ts";

/**
 * Links of one statement, and segments that are planned together. Each link takes a lock of
 * PostgreSQL, and with more of them the memory of a statement costs more than the statement.
 */
const LINKS_AT_ONCE = 250;
const SEGMENTS_AT_ONCE = 8;

/** A link of the source, and what became of it. */
export type LinkReport = { link: SourceLink; outcome: ImportOutcome };

/** Who wants to know how an import goes. */
export interface ImportObserver {
  noteLinks(reports: readonly LinkReport[]): void;
  noteProgress(row: ImportRow): void;
}

/** Runs an import until it is done. */
export class ImportRun {
  readonly #sql: Sql;
  readonly #links: LinkImports;
  readonly #publisher: SegmentPublisher;
  readonly #counters: ImportCounters;
  readonly #observer: ImportObserver;

  constructor(
    sql: Sql,
    links: LinkImports,
    publisher: SegmentPublisher,
    counters: ImportCounters,
    observer: ImportObserver,
  ) {
    this.#sql = sql;
    this.#links = links;
    this.#publisher = publisher;
    this.#counters = counters;
    this.#observer = observer;
  }

  /**
   * Imports what is left of an import, and resolves with it when its clicks are stored. Throws
   * while another run holds it, and what the source throws.
   */
  async run({ id }: ImportRow, source: Source, signal: AbortSignal): Promise<ImportRow> {
    await holdImport(this.#sql, id, async () => {
      for (let row = await this.#read(id); ; row = await this.#read(id)) {
        if (row.state === "links") await this.#importLinks(row, source, signal);
        else if (row.state === "visits") await this.#importVisits(row, source, signal);
        else if (row.state === "counters") await this.#count(row);
        else break;
      }
    });
    return await this.#read(id);
  }

  async #read(id: Uuid): Promise<ImportRow> {
    const row = await findImport(this.#sql, id);
    if (row === undefined) throw new Error("The import does not exist any more.");
    return row;
  }

  /**
   * Says what would become of each link, and changes nothing. An import that has all its links
   * would do nothing to them.
   */
  async check(row: ImportRow, source: Source, signal: AbortSignal): Promise<void> {
    if (row.state !== "links") return;
    const owner = ownerOf(row);
    const check: Decide = (links) => this.#links.check(owner, toImportedLinks(row, links));
    for await (const [, reports] of judgedPages(source, null, check, signal)) {
      this.#observer.noteLinks(reports);
      this.#note(row, countOutcomes(reports));
    }
  }

  async #importLinks(row: ImportRow, source: Source, signal: AbortSignal): Promise<void> {
    const owner = ownerOf(row);
    const write: Decide = (links) => this.#links.import(owner, toImportedLinks(row, links));
    for await (const [{ next }, reports] of judgedPages(source, row.page_end, write, signal)) {
      const counts = countOutcomes(reports);
      await recordLinks(this.#sql, row.id, { ...counts, page_end: next, links: linksOf(reports) });
      this.#observer.noteLinks(reports);
      this.#note(row, counts);
    }
  }

  async #importVisits(row: ImportRow, source: Source, signal: AbortSignal): Promise<void> {
    let [before, publishing] = [row.segments, row.publishing];
    const read = async (after: Cursor | null) => {
      const page = await source.visits(after, signal);
      const ids = [...new Set(page.rows.map(({ linkId }) => linkId))];
      return { ...page, links: await findImportLinks(this.#sql, row.id, ids) };
    };
    for await (const { rows, next, links } of pagesOf(read, row.page_end)) {
      const visits = new VisitsOfPage(row, links, rows);
      const segments = toSegments(visits.clicks(), publishing);
      const made = await this.#publish(row.id, before, segments, publishing.length);
      const counts = { visits: visits.count, left_out: visits.leftOut };
      const page = { ...counts, page_end: next, before, segments: made };
      if (!(await recordVisits(this.#sql, row.id, page)))
        throw new Error("Another process is running this import.");
      [before, publishing] = [before + made, []];
      this.#note(row, counts);
    }
  }

  /** Writes the counters when all clicks are stored, those of an earlier run too. */
  async #count(row: ImportRow): Promise<void> {
    await this.#publisher.drain();
    await this.#counters.raise(row);
    await setImportState(this.#sql, row.id, "done");
  }

  /**
   * Publishes the segments of a page. How many clicks each has is recorded before, of the first
   * ones by an earlier run: if this one is killed, the next divides the page alike. Returns how
   * many there are.
   */
  async #publish(
    id: Uuid,
    before: number,
    segments: Iterable<ImportSegment>,
    recorded: number,
  ): Promise<number> {
    const planned: number[] = [];
    for (const some of chunksOf(segments, SEGMENTS_AT_ONCE)) {
      const first = before + planned.length;
      planned.push(...some.map(({ clicks }) => clicks));
      if (planned.length > recorded) await recordPublishing(this.#sql, id, planned);
      await Promise.all(
        some.map((segment, i) =>
          this.#publisher.publish({ journalId: id, segment: first + i }, segment),
        ),
      );
    }
    return planned.length;
  }

  /** Adds to the counts of an import, and passes them on. */
  #note(row: ImportRow, added: Partial<ImportCounts>): void {
    for (const name of COUNTS) row[name] += added[name] ?? 0;
    this.#observer.noteProgress(row);
  }
}

const COUNTS = ["created", "same", "taken", "refused", "visits", "left_out"] as const;

/** Visits of a link within a day: each becomes a click, and a source may say any number. */
const COUNT_MAX = 10_000_000;

/** The clicks of a page of visits, in the order of their months, and what is left out of it. */
class VisitsOfPage {
  readonly #row: ImportRow;
  readonly #links: ReadonlyMap<string, ImportLink>;
  readonly #taken: SourceVisits[];
  readonly count: number;
  readonly leftOut: number;

  /**
   * Visits of links that were not imported are left out, and those of no time. Throws for a row of
   * more than a link can have had.
   */
  constructor(
    row: ImportRow,
    links: ReadonlyMap<string, ImportLink>,
    visits: readonly SourceVisits[],
  ) {
    this.#row = row;
    this.#links = links;
    const now = Date.now();
    const wrong = visits.find(({ count }) => !(count >= 0 && count <= COUNT_MAX));
    if (wrong !== undefined)
      throw new Error(`The source says that a link had ${wrong.count} visits within a day.`);
    this.#taken = visits.filter(({ linkId, at }) => links.has(linkId) && isTime(at, now));
    this.count = sumOf(this.#taken);
    this.leftOut = sumOf(visits) - this.count;
  }

  *clicks(): Generator<Click> {
    const months = Map.groupBy(this.#taken, ({ at }) =>
      at.toISOString().slice(0, "YYYY-MM".length),
    );
    for (const month of [...months.keys()].toSorted())
      for (const visits of months.get(month) ?? []) {
        const link = this.#links.get(visits.linkId);
        if (link !== undefined) yield* toClicks(this.#row, link, visits);
      }
  }
}

const sumOf = (visits: readonly SourceVisits[]): number =>
  visits.reduce((sum, { count }) => sum + count, 0);

const ownerOf = ({ account_id, mode }: ImportRow): Author => ({
  accountId: account_id,
  mode,
  actor: OPERATOR,
});

const toImportedLinks = (row: ImportRow, links: readonly SourceLink[]): ImportedLink[] =>
  links.map((link) => ({
    // The time makes ids ascend with creation, as those of other links.
    id: hashedUuid((timeOf(link) ?? row.created_at).getTime(), `${row.id}\n${link.id}`),
    body: {
      ...link.settings,
      url: link.url,
      alias: link.alias,
      domain: row.options["domain"] ?? link.domain,
      // What is longer is cut rather than refused.
      ...(link.title === undefined
        ? {}
        : { title: truncateText(toSingleLine(link.title), TITLE_LENGTH_MAX) }),
      ...(link.tags === undefined ? {} : { tags: trimEach(link.tags).slice(0, TAGS_MAX) }),
      ...(link.expiresAt === undefined ? {} : { expires_at: link.expiresAt.toISOString() }),
    },
    createdAt: timeOf(link),
  }));

/** When a link was created; undefined where no link can have been. */
const timeOf = ({ createdAt }: SourceLink): Date | undefined =>
  createdAt !== undefined && isTime(createdAt) ? createdAt : undefined;

/** Decides what becomes of links that the source does not refuse, and does it. */
type Decide = (links: readonly SourceLink[]) => Promise<ImportOutcome[]>;

/**
 * The pages of links after a cursor, in their order, with what became of each link. While
 * PostgreSQL writes one, the next is prepared.
 */
function judgedPages(
  source: Source,
  after: Cursor | null,
  decide: Decide,
  signal: AbortSignal,
): AsyncGenerator<[Page<SourceLink>, LinkReport[]]> {
  const pages = pagesOf((cursor) => source.links(cursor, signal), after);
  return inOrder(pages, async ({ rows }) => {
    const reports: LinkReport[] = [];
    for (const some of chunksOf(rows, LINKS_AT_ONCE)) {
      signal.throwIfAborted();
      reports.push(...(await judge(some, decide)));
    }
    return reports;
  });
}

/** Decides about links, but for those that the source has refused itself. */
async function judge(links: readonly SourceLink[], decide: Decide): Promise<LinkReport[]> {
  const outcomes = await decide(links.filter(({ refused }) => refused === undefined));
  let decided = 0;
  return links.flatMap((link) => {
    const outcome =
      link.refused === undefined
        ? outcomes[decided++]
        : ({ outcome: "refused", reason: link.refused } as const);
    return outcome === undefined ? [] : [{ link, outcome }];
  });
}

function countOutcomes(reports: readonly LinkReport[]) {
  const countOf = (wanted: ImportOutcome["outcome"]) =>
    reports.filter(({ outcome }) => outcome.outcome === wanted).length;
  return {
    created: countOf("new"),
    same: countOf("same"),
    taken: countOf("taken"),
    refused: countOf("refused"),
  };
}

/** The links whose visits are imported, too. */
const linksOf = (reports: readonly LinkReport[]): ImportLink[] =>
  reports.flatMap(({ link, outcome }) =>
    "id" in outcome
      ? {
          source_id: link.id,
          link_id: outcome.id,
          host: outcome.host,
          created: outcome.outcome === "new",
        }
      : [],
  );
