/** What people get: asks for the decision, records the click, makes the answer. Knows no sockets. */
import { copyPassage, type Passage, passageText, type Span } from "../shared/bytes.ts";
import type { ClientAddress } from "../shared/client-address.ts";
import { newRawClick } from "../shared/contracts/click-page.ts";
import { DEFAULT_DOMAIN } from "../shared/contracts/link-record.ts";
import { hostName } from "../shared/hosts.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import { type CachedLink, keepLink } from "./cache/record.ts";
import { decide, type Decision, type ShortRequest, withQuery } from "./decision.ts";
import type { Answer } from "./http/answer.ts";
import { textOf } from "./http/bytes.ts";
import type { Head } from "./http/reading.ts";
import type { Journal } from "./journal/journal.ts";
import type { LinkFeed } from "./link-feed.ts";
import type { Lookups } from "./lookups.ts";
import { FAVICON, type Pages, redirectPage, ROBOTS } from "./pages.ts";
import type { PasswordPasses } from "./password-pass.ts";
import { type PasswordCheck, readPassword } from "./password.ts";

export type HandlerDeps = {
  cache: Pick<LinkCache, "get">;
  feed: Pick<LinkFeed, "fetch">;
  journal: Pick<Journal, "append">;
  clientAddress: ClientAddress;
  checkPassword: PasswordCheck;
  passes: PasswordPasses;
  lookups: Lookups;
  pages: Pages;
  /** Hosts of the default short domain. */
  hosts: ReadonlySet<string>;
  rootRedirectUrl: string | undefined;
  /** Told of every decision that was answered. */
  onAnswer: (kind: Decision["kind"] | "unavailable" | "too_many") => void;
};

/** A whole request; its bytes are the caller's again as soon as the handler has returned. */
export type Incoming = {
  head: Head;
  /** The posted form, if there is one. */
  body: Passage;
  /** When it came in, in Unix milliseconds. */
  now: number;
  /** The address at the other end of the connection, in its normal form. */
  peer: string;
};

export type Handler = ReturnType<typeof createHandler>;

/** A host as clicks have it, and the domain it means; none when nothing is served there. */
type Meaning = { host: string; domain: string | undefined };

/** The most hosts whose meaning is remembered. */
const HOSTS_MAX = 10_000;

const CUSTOM_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/** A link in memory is answered at once, in the same turn; only misses and passwords wait. */
export function createHandler(deps: HandlerDeps) {
  const {
    cache,
    feed,
    journal,
    clientAddress,
    checkPassword,
    passes,
    lookups,
    pages,
    hosts,
    onAnswer,
  } = deps;
  const meanings = new Map<string, Meaning>();
  // Nearly always that of the next request as well.
  let lastHost = "";
  let lastMeaning: Meaning = { host: "", domain: undefined };
  // One of each for all requests: they are looked at, and done with.
  let current: Incoming;
  const asked: ShortRequest = {
    method: "",
    domain: "",
    // Of a link that is in memory the path is never a text.
    get path() {
      return latin1(current.head, current.head.path);
    },
  };
  const click = newRawClick();
  const redirect: { location: string | Passage } = { location: "" };

  function handle(incoming: Incoming): Answer | Promise<Answer> {
    const decision = decideOn(incoming, incoming.now);
    return decision.kind === "miss"
      ? answerMiss(keep(incoming), decision)
      : answer(incoming, decision);
  }

  function decideOn(incoming: Incoming, now: number): Decision {
    const { head } = incoming;
    const { domain } = meaningOf(head.host);
    current = incoming;
    asked.method = head.method;
    asked.domain = domain;
    const link = domain === undefined ? undefined : cache.get(domain, head.bytes, head.path);
    return decide(asked, link, now);
  }

  async function answerMiss(
    incoming: Incoming,
    { domain, alias }: Extract<Decision, { kind: "miss" }>,
  ): Promise<Answer> {
    const release = lookups.admit(addressOf(incoming));
    if (typeof release === "string") {
      onAnswer(release);
      return pages.message(release, { "retry-after": release === "too_many" ? "10" : "2" });
    }
    let found = false;
    try {
      found = await feed.fetch(domain, alias);
    } catch {
      onAnswer("unavailable");
      return pages.message("unavailable", { "retry-after": "2" });
    } finally {
      release(found);
    }
    const decision: Decision = found ? decideOn(incoming, Date.now()) : { kind: "not_found" };
    // A cache too small to hold even this one link.
    if (decision.kind === "miss") throw new Error("A fetched link is not in the cache.");
    const answered = answer(incoming, decision);
    return answered instanceof Promise ? await answered : keepAnswer(answered);
  }

  function answer(
    incoming: Incoming,
    decision: Exclude<Decision, { kind: "miss" }>,
  ): Answer | Promise<Answer> {
    onAnswer(decision.kind);
    switch (decision.kind) {
      case "redirect":
        return lead(incoming, decision.link);
      case "password":
        return incoming.head.method === "POST"
          ? answerPassword(keep(incoming), keepLink(decision.link))
          : answerAgain(incoming, decision.link);
      case "root":
        return deps.rootRedirectUrl === undefined
          ? pages.message("home")
          : redirectPage(deps.rootRedirectUrl);
      case "robots":
        return ROBOTS;
      case "favicon":
        return FAVICON;
      case "method_not_allowed":
        return pages.message("method_not_allowed", { allow: decision.allow });
      default:
        return pages.message(decision.kind);
    }
  }

  /** Whoever has typed the password is not asked again for a while. */
  function answerAgain(incoming: Incoming, link: CachedLink): Answer {
    return passes.accept(link, utf8(incoming.head, incoming.head.cookie))
      ? lead(incoming, link)
      : pages.password("asked");
  }

  async function answerPassword(incoming: Incoming, link: CachedLink): Promise<Answer> {
    const { head, body } = incoming;
    const password = readPassword(utf8(head, head.contentType), utf8(body, body));
    if (password === undefined) return pages.password("wrong");
    const result = await checkPassword(link, addressOf(incoming), password);
    if (result === "limited") return pages.password("limited", { "retry-after": "60" });
    if (result === "wrong") return pages.password("wrong");
    record(incoming, link);
    const location = locationOf(incoming, link);
    const page = redirectPage(typeof location === "string" ? location : passageText(location));
    const pass = passes.issue(link, latin1(head, head.path));
    return { ...page, headers: { ...page.headers, "set-cookie": pass } };
  }

  /** Leads on to where the link goes; a GET is a click. */
  function lead(incoming: Incoming, link: CachedLink): Answer {
    if (incoming.head.method === "GET") record(incoming, link);
    redirect.location = locationOf(incoming, link);
    return redirect;
  }

  function locationOf(incoming: Incoming, link: CachedLink): string | Passage {
    const { destination } = link;
    const { head } = incoming;
    if (!link.forward_query || head.query.start === head.query.end) return destination;
    return withQuery(passageText(destination), utf8(head, head.query));
  }

  function record(incoming: Incoming, link: CachedLink): void {
    const { head, now } = incoming;
    click.time = now;
    click.ids = link.ids;
    click.mode = link.mode;
    click.prefetch = head.prefetch;
    click.privacy = head.privacy;
    click.address = addressOf(incoming);
    click.host = meaningOf(head.host).host;
    click.bytes = head.bytes;
    click.userAgent = head.userAgent;
    click.referrer = head.referrer;
    click.language = head.language;
    click.query = head.query;
    journal.append(click);
  }

  /** Without a proxy's word the peer is the client, as was found out when it connected. */
  const addressOf = ({ head, peer }: Incoming): string =>
    head.forwardedFor === "" ? peer : clientAddress(peer, head.forwardedFor);

  function meaningOf(host: string): Meaning {
    if (host === lastHost) return lastMeaning;
    lastHost = host;
    lastMeaning = meanings.get(host) ?? findMeaning(host);
    return lastMeaning;
  }

  function findMeaning(host: string): Meaning {
    const name = hostName(host);
    const custom = CUSTOM_HOST.test(name) ? name : undefined;
    const meaning = { host: name, domain: hosts.has(name) ? DEFAULT_DOMAIN : custom };
    if (meanings.size >= HOSTS_MAX) meanings.clear();
    meanings.set(host, meaning);
    return meaning;
  }

  return handle;
}

const utf8 = ({ bytes }: Pick<Head, "bytes">, { start, end }: Span): string =>
  bytes.toString("utf8", start, end);

const latin1 = ({ bytes }: Pick<Head, "bytes">, { start, end }: Span): string =>
  textOf(bytes, start, end);

/** An answer that stays as it is until somebody has waited for it. */
function keepAnswer(answer: Answer): Answer {
  if (!("location" in answer) || typeof answer.location === "string") return { ...answer };
  return { location: copyPassage(answer.location) };
}

/** A copy that stays as it is while an answer is waited for. */
function keep(incoming: Incoming): Incoming {
  const { head, body } = incoming;
  const { path, query, userAgent, referrer, language, cookie, contentType } = head;
  return {
    ...incoming,
    body: copyPassage(body),
    head: {
      ...head,
      bytes: Buffer.from(head.bytes.subarray(0, head.length)),
      path: { ...path },
      query: { ...query },
      userAgent: { ...userAgent },
      referrer: { ...referrer },
      language: { ...language },
      cookie: { ...cookie },
      contentType: { ...contentType },
    },
  };
}
