/** Answers people: reads a request, asks for the decision, records the click, writes the answer. */
import type { ClientAddress } from "../shared/client-address.ts";
import { type ActiveLink, DEFAULT_DOMAIN } from "../shared/contracts/link-record.ts";
import { hostName } from "../shared/hosts.ts";
import { decide, type Decision, locationOf, type ShortRequest } from "./decision.ts";
import type { Journal } from "./journal/journal.ts";
import type { LinkCache } from "./link-cache.ts";
import type { LinkFeed } from "./link-feed.ts";
import { messagePage, passwordPage } from "./pages.ts";
import { type PasswordCheck, readPassword } from "./password.ts";

export type ServerDeps = {
  cache: LinkCache;
  feed: Pick<LinkFeed, "fetch">;
  journal: Pick<Journal, "append">;
  clientAddress: ClientAddress;
  checkPassword: PasswordCheck;
  /** Hosts of the default short domain. */
  hosts: ReadonlySet<string>;
  rootRedirectUrl: string | undefined;
  /** Told of every decision that was answered. */
  onAnswer: (kind: Decision["kind"] | "unavailable") => void;
};

/** The most bytes of a request's body: a password form. */
const BODY_BYTES_MAX = 16 * 1024;

const ROBOTS = "User-agent: *\nAllow: /\n";

export function startServer(host: string, port: number, deps: ServerDeps) {
  const handle = createHandler(deps);
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: port !== 0,
    development: false,
    idleTimeout: 10,
    maxRequestBodySize: BODY_BYTES_MAX,
    fetch: (request, server) => handle(request, server.requestIP(request)?.address ?? ""),
  });
  return { url: server.url, stop: () => server.stop() };
}

/** A link in memory is answered at once, in the same turn; only misses and passwords wait. */
export function createHandler(deps: ServerDeps) {
  const { cache, feed, journal, clientAddress, checkPassword, hosts, rootRedirectUrl, onAnswer } =
    deps;

  function handle(request: Request, peer: string): Response | Promise<Response> {
    const asked = readRequest(request);
    const decision = decide(asked, Date.now(), cache.get);
    if (decision.kind === "miss") return answerMiss(request, asked, peer, decision);
    return answer(request, asked, peer, decision);
  }

  async function answerMiss(
    request: Request,
    asked: ShortRequest,
    peer: string,
    { domain, alias }: Extract<Decision, { kind: "miss" }>,
  ): Promise<Response> {
    let found: boolean;
    try {
      found = await feed.fetch(domain, alias);
    } catch {
      onAnswer("unavailable");
      return messagePage("unavailable", { "retry-after": "2" });
    }
    const decision: Decision = found ? decide(asked, Date.now(), cache.get) : { kind: "not_found" };
    // A cache too small to hold even this one link.
    if (decision.kind === "miss") throw new Error("A fetched link is not in the cache.");
    return await answer(request, asked, peer, decision);
  }

  function answer(
    request: Request,
    asked: ShortRequest,
    peer: string,
    decision: Exclude<Decision, { kind: "miss" }>,
  ): Response | Promise<Response> {
    onAnswer(decision.kind);
    switch (decision.kind) {
      case "redirect":
        if (asked.method === "GET") record(request, asked, peer, decision.link);
        return redirect(decision.location);
      case "password":
        return asked.method === "POST"
          ? answerPassword(request, asked, peer, decision.link)
          : passwordPage("asked");
      case "root":
        return rootRedirectUrl === undefined ? messagePage("home") : redirect(rootRedirectUrl);
      case "robots":
        return new Response(ROBOTS, {
          headers: { "content-type": "text/plain; charset=utf-8", "x-robots-tag": "noindex" },
        });
      case "favicon":
        return new Response(null, { status: 204, headers: { "cache-control": "max-age=86400" } });
      case "method_not_allowed":
        return messagePage("method_not_allowed", { allow: decision.allow });
      default:
        return messagePage(decision.kind);
    }
  }

  async function answerPassword(
    request: Request,
    asked: ShortRequest,
    peer: string,
    link: ActiveLink,
  ): Promise<Response> {
    const password = await readPassword(request);
    if (password === undefined) return passwordPage("wrong");
    const address = clientAddress(peer, request.headers.get("x-forwarded-for"));
    const result = await checkPassword(link, address, password);
    if (result === "limited") return passwordPage("limited", { "retry-after": "60" });
    if (result === "wrong") return passwordPage("wrong");
    record(request, asked, peer, link);
    return redirect(locationOf(link, asked.query));
  }

  function record(request: Request, asked: ShortRequest, peer: string, link: ActiveLink): void {
    const { headers } = request;
    const purpose = headers.get("sec-purpose") ?? headers.get("purpose") ?? "";
    journal.append({
      time: Date.now(),
      linkId: link.link_id,
      accountId: link.account_id,
      mode: link.mode,
      prefetch: purpose.includes("prefetch"),
      privacy: headers.get("sec-gpc") === "1" || headers.get("dnt") === "1",
      address: clientAddress(peer, headers.get("x-forwarded-for")),
      host: hostName(headers.get("host") ?? ""),
      userAgent: headers.get("user-agent") ?? "",
      referrer: headers.get("referer") ?? "",
      language: headers.get("accept-language") ?? "",
      query: asked.query,
    });
  }

  function readRequest(request: Request): ShortRequest {
    const { url } = request;
    const pathStart = url.indexOf("/", url.indexOf("//") + 2);
    const queryStart = url.indexOf("?", pathStart);
    return {
      method: request.method,
      path: queryStart === -1 ? url.slice(pathStart) : url.slice(pathStart, queryStart),
      query: queryStart === -1 ? "" : url.slice(queryStart + 1),
      domain: domainOf(hostName(request.headers.get("host") ?? "")),
    };
  }

  const domainOf = (host: string): string | undefined =>
    hosts.has(host) ? DEFAULT_DOMAIN : /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(host) ? host : undefined;

  return handle;
}

const redirect = (location: string): Response =>
  new Response(null, {
    status: 302,
    headers: { location, "cache-control": "private, no-store", "content-length": "0" },
  });
