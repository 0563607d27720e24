/**
 * Enrichment: converts a segment's bytes to the bytes of an insert into ClickHouse. For each header
 * the encoded fields are cached, so that a row is mostly copied. The rows depend only on the
 * segment and the GeoIP data.
 */
import { addressGroups } from "../../shared/addresses.ts";
import { truncateText } from "../../shared/bytes.ts";
import { type EncodedClick, readEncodedClick } from "../../shared/contracts/click-record.ts";
import {
  formatSegmentId,
  scanSegment,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { decodeText } from "../../shared/contracts/click-text.ts";
import { parseImportedVisit } from "../../shared/contracts/imported-visit.ts";
import { DEVICES } from "../../shared/contracts/link-rules.ts";
import { UTM_NAMES } from "../../shared/contracts/query-string.ts";
import { composeTrimmed } from "../../shared/contracts/text.ts";
import { isCountry, UNKNOWN_COUNTRY } from "../../shared/countries.ts";
import { currentCode } from "../../shared/decision/language.ts";
import { formatUuid, ID_BYTES, type Uuid } from "../../shared/ids.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { judgeRequest, type Verdict } from "../../shared/visitors/automation.ts";
import { cached } from "../../shared/visitors/cache.ts";
import type { Geo, GeoLocation } from "../../shared/visitors/geo.ts";
import { isOwnHost, parseReferrer } from "../../shared/visitors/referrer.ts";
import { parseAgent, UNKNOWN_AGENT } from "../../shared/visitors/user-agent.ts";
import { escapeField, TextWriter } from "./tab-separated.ts";

/** The columns of the rows, in order: those of the table `incoming_clicks`. */
export const ROW_COLUMNS = [
  "ts",
  "link_id",
  "account_id",
  "mode",
  "class",
  "class_reason",
  "visitor",
  "continent",
  "country",
  "region",
  "region_name",
  "city",
  "browser",
  "os",
  "device",
  "referrer",
  "referrer_path",
  "language",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
  "host",
  "journal_id",
  "segment",
  "idx",
  "target",
  "trigger",
  "import",
] as const;

/** A link with new clicks. */
export type ClickedLink = {
  linkId: Uuid;
  /** Its last click by a person, in Unix milliseconds; 0 if there is none. */
  lastClick: number;
};

export type SegmentRows = SegmentId & {
  /** In the format TabSeparated, with {@link ROW_COLUMNS}; one line for each click, in order. */
  rows: Buffer;
  clicks: number;
  links: readonly ClickedLink[];
  /** Times of the earliest and the latest click, in Unix milliseconds; infinite without clicks. */
  firstClick: number;
  lastClick: number;
  /** Whether clicks of it are imported: their times say nothing about how long they waited. */
  imported: boolean;
  /** False when there are bytes that are not a valid record. */
  whole: boolean;
};

/** Cached texts of each kind, of up to 1 KiB: some tens of MB in all caches. */
const CACHE_ENTRIES_MAX = 10_000;

/** The latest time of a click: 2100-01-01, below the end of ClickHouse's `DateTime`. */
const TIME_MAX = Date.UTC(2100, 0, 1);

/** Expected bytes of a row, for the buffer's first size. */
const ROW_BYTES = 320;

/** The fields that a header determines, escaped, each after a tab. */
type AgentFields = {
  text: string;
  fields: Buffer;
  verdict: Verdict;
  /** Class and reason that the header determines. */
  kind: Buffer;
};
type ReferrerFields = { host: string; fields: Buffer; fieldsWithoutPath: Buffer };
type LocationFields = { fields: Buffer; fieldsWithoutCity: Buffer };
/** The fields that a source knows of a visit; undefined where address or user agent tell them. */
type ImportFields = {
  text: string;
  number: string;
  isVisit: boolean;
  location: Buffer | undefined;
  agent: Buffer | undefined;
};

export class Enricher {
  readonly #geo: Geo;
  readonly #visitorHash: VisitorHash;
  readonly #ownHosts: ReadonlySet<string>;
  readonly #hasAnonymousVisitors: boolean;

  readonly #agentOf = cached(CACHE_ENTRIES_MAX, (latin1: string): AgentFields => {
    const text = decodeText(latin1);
    const { browser, os, device, verdict } = parseAgent(text);
    return { text, fields: toFields(browser, os, device), verdict, kind: toKind(verdict) };
  });
  readonly #referrerOf = cached(CACHE_ENTRIES_MAX, (latin1: string): ReferrerFields => {
    const { host, source, path } = parseReferrer(decodeText(latin1));
    return { host, fields: toFields(source, path), fieldsWithoutPath: toFields(source, "") };
  });
  readonly #languageOf = cached(CACHE_ENTRIES_MAX, (latin1: string) =>
    toFields(parseLanguage(decodeText(latin1))),
  );
  readonly #utmOf = cached(CACHE_ENTRIES_MAX, (latin1: string) => parseUtm(decodeText(latin1)));
  readonly #hostOf = cached(CACHE_ENTRIES_MAX, (latin1: string) => {
    const text = decodeText(latin1);
    return { text, fields: toFields(text) };
  });
  readonly #importOf = cached(CACHE_ENTRIES_MAX, (latin1: string) =>
    toImportFields(decodeText(latin1)),
  );
  /** By the objects of {@link Geo}. */
  readonly #locations = new WeakMap<GeoLocation, LocationFields>();

  /**
   * `ownHosts` are those of the default short domain. With `hasAnonymousVisitors`, each click with
   * a privacy signal counts as a separate visitor.
   */
  constructor(
    geo: Geo,
    visitorSecret: string,
    ownHosts: ReadonlySet<string>,
    hasAnonymousVisitors = false,
  ) {
    this.#geo = geo;
    this.#visitorHash = new VisitorHash(visitorSecret);
    this.#ownHosts = ownHosts;
    this.#hasAnonymousVisitors = hasAnonymousVisitors;
  }

  /**
   * Makes a segment's rows; undefined when ClickHouse could never accept them, so that no such
   * segment gets into a batch: its bytes are not a segment, or a record is no click. A click whose
   * texts are not cached takes a tenth of a millisecond, and an attacker can fill segments with
   * such clicks: other tasks of the event loop run in between.
   */
  async enrich(segment: Buffer): Promise<SegmentRows | undefined> {
    const scan = scanSegment(segment);
    if (scan === undefined) return undefined;
    const segmentId = formatSegmentId(scan);
    const position = Buffer.from(`\t${scan.journalId}\t${scan.segment}\t`);
    const writer = new TextWriter(scan.records.length * ROW_BYTES);
    const subjects = new Map<string, Subject>();
    let clicks = 0;
    let [firstClick, lastClick] = [Infinity, -Infinity];
    let imported = false;
    const slice = new TimeSlice();
    for (const record of scan.records) {
      const click = readEncodedClick(segment, record);
      if (click === undefined || !isTime(click.time)) return undefined;
      if (click.time < firstClick) firstClick = click.time;
      if (click.time > lastClick) lastClick = click.time;
      let subject = subjects.get(click.ids);
      if (subject === undefined) subjects.set(click.ids, (subject = toSubject(click.ids)));
      const isHuman = click.imported
        ? this.#writeImported(writer, click, subject)
        : this.#writeClick(writer, click, subject, { segmentId, idx: clicks });
      if (isHuman && click.time > subject.lastClick) subject.lastClick = click.time;
      writer.bytes(position);
      writer.integer(clicks++);
      writer.bytes(TAB);
      writer.ascii(click.target);
      writer.bytes(TAB);
      writer.ascii(click.scanned ? "qr" : "link");
      writer.bytes(TAB);
      writer.ascii(click.imported ? this.#importOf(click.query).number : "0");
      writer.bytes(LINE_FEED);
      if (click.imported) imported = true;
      if (slice.isOver()) await slice.next();
    }
    return {
      journalId: scan.journalId,
      segment: scan.segment,
      rows: writer.finish(),
      clicks,
      links: [...subjects.values()].map(({ linkId, lastClick }) => ({ linkId, lastClick })),
      firstClick,
      lastClick,
      imported,
      whole: scan.whole,
    };
  }

  /** Writes the columns before the place in the journal; returns whether it is a person's click. */
  #writeClick(
    writer: TextWriter,
    click: EncodedClick,
    { linkId, fields }: Subject,
    place: ClickPlace,
  ): boolean {
    const agent = this.#agentOf(click.userAgent);
    const verdict = judgeRequest(agent.verdict, click);
    const host = this.#hostOf(click.host);
    const referrer = this.#referrerOf(click.referrer);
    const isOwn = isOwnHost(referrer.host, host.text, this.#ownHosts);
    const foreign = click.privacy ? referrer.fieldsWithoutPath : referrer.fields;
    // With a privacy signal, the visitor is derived from the click's place in the journal: stable
    // on retry, not linkable to a person.
    const visitor =
      click.privacy && this.#hasAnonymousVisitors
        ? this.#visitorHash.of(linkId, place.segmentId, String(place.idx))
        : this.#visitorHash.of(linkId, addressGroups(click.address).network, agent.text);

    writer.integer(click.time);
    writer.bytes(fields);
    writer.ascii(click.mode);
    writer.bytes(verdict === agent.verdict ? agent.kind : toKind(verdict));
    writer.ascii(visitor);
    writer.bytes(this.#locationFields(this.#geo.locate(click.address), click.privacy));
    writer.bytes(agent.fields);
    writer.bytes(isOwn ? DIRECT_FIELDS : foreign);
    writer.bytes(this.#languageOf(click.language));
    writer.bytes(this.#utmOf(click.query));
    writer.bytes(host.fields);
    return verdict.class === "human";
  }

  /**
   * As {@link Enricher.#writeClick}, of a visit of another product: what its source knows of it
   * comes first. A visit without a user agent is a person's, and one of a day's count is no
   * visitor's.
   */
  #writeImported(writer: TextWriter, click: EncodedClick, { linkId, fields }: Subject): boolean {
    const known = this.#importOf(click.query);
    const agent = this.#agentOf(click.userAgent);
    const isJudged = click.userAgent !== "";
    const host = this.#hostOf(click.host);
    const referrer = this.#referrerOf(click.referrer);
    const isOwn = isOwnHost(referrer.host, host.text, this.#ownHosts);
    const network = click.address === "" ? known.text : addressGroups(click.address).network;
    writer.integer(click.time);
    writer.bytes(fields);
    writer.ascii(click.mode);
    writer.bytes(isJudged ? agent.kind : HUMAN_KIND);
    writer.ascii(known.isVisit ? this.#visitorHash.of(linkId, network, agent.text) : NO_VISITOR);
    writer.bytes(
      known.location ?? this.#locationFields(this.#geo.locate(click.address), click.privacy),
    );
    writer.bytes(isJudged ? agent.fields : (known.agent ?? agent.fields));
    writer.bytes(isOwn ? DIRECT_FIELDS : referrer.fields);
    writer.bytes(this.#languageOf(click.language));
    writer.bytes(NO_UTM_FIELDS);
    writer.bytes(host.fields);
    return !isJudged || agent.verdict.class === "human";
  }

  #locationFields(location: GeoLocation, privacy: boolean): Buffer {
    let encoded = this.#locations.get(location);
    if (encoded === undefined) {
      const { continent, country, region, region_name, city } = location;
      const area = [continent, country, region, region_name];
      encoded = { fields: toFields(...area, city), fieldsWithoutCity: toFields(...area, "") };
      this.#locations.set(location, encoded);
    }
    return privacy ? encoded.fieldsWithoutCity : encoded.fields;
  }
}

type ClickPlace = { segmentId: string; idx: number };

/** A link, and the row's fields of link and account, which stand between time and mode. */
type Subject = ClickedLink & { fields: Buffer };

/** Converts the bytes of the two UUIDs, as Latin-1. */
function toSubject(ids: string): Subject {
  const hex = Buffer.from(ids, "latin1").toString("hex");
  const [link, account] = [hex.slice(0, 2 * ID_BYTES), hex.slice(2 * ID_BYTES)];
  const fields = Buffer.from(`\t${link}\t${account}\t`);
  return { linkId: formatUuid(link), lastClick: 0, fields };
}

const TAB = Buffer.from("\t");
const LINE_FEED = Buffer.from("\n");

const isTime = (time: number): boolean => Number.isInteger(time) && time >= 0 && time < TIME_MAX;

/** A click's class with its reason, and the tabs around them. */
const toKind = (verdict: Verdict): Buffer =>
  Buffer.concat([toFields(verdict.class, verdict.reason), Buffer.from("\t")]);

/** Escapes texts as fields, each after a tab. */
function toFields(...texts: readonly string[]): Buffer {
  return Buffer.from(texts.map((text) => `\t${escapeField(text)}`).join(""));
}

const DIRECT_FIELDS = toFields("direct", "");
const HUMAN_KIND = toKind({ class: "human", reason: "" });
const NO_UTM_FIELDS = toFields(...UTM_NAMES.map(() => ""));

/** In the column of visitors: nobody's. Rollups and queries of visitors leave it out. */
const NO_VISITOR = "0";

/** Reads what a source knows of a visit. Without a continent, which no source has. */
function toImportFields(text: string): ImportFields {
  const visit = parseImportedVisit(text);
  const { country, region, city, device, browser, os } = visit;
  const code = country.toUpperCase();
  const known = isCountry(code) ? code : UNKNOWN_COUNTRY;
  const isPlaced = country !== "" || city !== "";
  const isAgent = device !== "" || browser !== "" || os !== "";
  return {
    text,
    number: String(visit.import),
    isVisit: visit.isVisit,
    location: isPlaced ? toFields("", known, region, region, city) : undefined,
    agent: isAgent
      ? toFields(browser || UNKNOWN_AGENT, os || UNKNOWN_AGENT, toDevice(device))
      : undefined,
  };
}

const toDevice = (text: string): string =>
  DEVICES.find((device) => device === text.toLowerCase()) ?? "other";

/** The primary subtag of the first language, e.g. `de` for `de-AT,en;q=0.5`; "" for none. */
export const parseLanguage = (header: string): string =>
  currentCode(/^\s*([a-z]{2,3})(?=[-_,;\s]|$)/i.exec(header)?.[1]?.toLowerCase() ?? "");

const UTM_LENGTH_MAX = 255;

function parseUtm(query: string): Buffer {
  const values = new URLSearchParams(query);
  const valueOf = (name: string) =>
    truncateText(composeTrimmed(values.get(name) ?? ""), UTM_LENGTH_MAX);
  return toFields(...UTM_NAMES.map(valueOf));
}

/** 64-bit words of the buffer that Bun requires for any digest. */
const DIGEST_WORDS = 8;

/** Visitor ids: they distinguish the visitors of a link without identifying them. */
export class VisitorHash {
  // To copy a hasher that has the key is cheaper than to create one.
  readonly #keyed: Bun.CryptoHasher;
  readonly #digest = new BigUint64Array(DIGEST_WORDS);

  constructor(secret: string) {
    this.#keyed = new Bun.CryptoHasher("sha256", secret);
  }

  /**
   * HMAC-SHA-256 of link, network and user agent, truncated to 64 bits, as a decimal number.
   * Without the secret, an address cannot be found by trying all; as the link is part of the input,
   * the hashes of a person on two links are unrelated. Only the network of an address counts:
   * privacy extensions change the rest of an IPv6 address every day (RFC 8981).
   */
  of(linkId: Uuid, network: string, userAgent: string): string {
    this.#keyed.copy().update(`${linkId}\n${network}\n${userAgent}`).digest(this.#digest);
    return String(this.#digest[0]);
  }
}
