/**
 * Counts failed requests by link, or by domain and alias; neither `HEAD` requests nor those for the
 * page about a link.
 */
import { foldAlias } from "../../shared/contracts/alias.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { ID_BYTES, readUuid } from "../../shared/ids.ts";
import type { FailureLog } from "../failures/reporter.ts";
import { normalizePath, type RequestHead, toLatin1 } from "../http/request.ts";
import { ABOUT, readAliases } from "./beyond-alias.ts";
import type { Failure } from "./decision.ts";
import type { DomainFinder } from "./link-finder.ts";
import type { RequestReader } from "./request-reader.ts";

/**
 * Hidden files, icons, scripts and files for programs. Browsers and programs request them from
 * every host, so they say nothing about misprinted aliases.
 */
const FOREIGN_FILE =
  /(?:^|\/)(?:\.|(?:apple-touch-icon|favicon)[\w-]*\.)|\.(?:php\d?|phtml|aspx?|jspx?|cgi|xml|txt|json|js|css|ico|webmanifest|sql|bak|ya?ml|ini|log)$/i;

export class FailureCounter {
  readonly #failures: FailureLog;
  readonly #domains: DomainFinder;
  readonly #reader: RequestReader;

  constructor(failures: FailureLog, domains: DomainFinder, reader: RequestReader) {
    this.#failures = failures;
    this.#domains = domains;
    this.#reader = reader;
  }

  /** Counts a failed request; without a failure, it was not for a link. */
  count(head: RequestHead, failure: Failure | undefined): void {
    const domain = this.#reader.domainOf(head);
    if (failure === undefined || domain === undefined || head.method === "HEAD") return;
    const path = normalizePath(toLatin1(head, head.path));
    if (path === undefined || path.endsWith(ABOUT)) return;
    if (failure.reason !== "unknown_alias") {
      const { ids, mode } = failure.link;
      this.#failures.countLink({
        link_id: readUuid(ids.bytes, ids.start),
        account_id: readUuid(ids.bytes, ids.start + ID_BYTES),
        mode,
        domain,
        reason: failure.reason,
      });
      return;
    }
    // On the service's own domain, an alias without a link has no owner.
    if (domain === DEFAULT_DOMAIN) return;
    const [name] = readAliases(path);
    if (name === undefined || FOREIGN_FILE.test(name.alias)) return;
    const { alias } = name;
    const isFolded = this.#domains.foldOf(domain) === "all";
    this.#failures.countUnknownAlias(domain, isFolded ? foldAlias(alias) : alias);
  }
}
