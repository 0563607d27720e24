/** Records clicks in the journal. */
import { newRawClick } from "../../shared/contracts/click-record.ts";
import { readUtmQuery } from "../../shared/contracts/utm.ts";
import type { Target } from "../../shared/decision/targets.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import type { IncomingRequest } from "../http/request.ts";
import type { Journal } from "../journal/journal.ts";
import type { ResolveHost } from "./hosts.ts";
import type { RequestReader } from "./request-reader.ts";

type RecorderDeps = {
  journal: Pick<Journal, "append">;
  reader: Pick<RequestReader, "addressOf" | "settingsOf">;
  resolveHost: ResolveHost;
};

/** Records the click of a request that a link redirects, with its target if it has one. */
export type RecordClick = (
  incoming: IncomingRequest,
  link: CachedLink,
  target: Target | undefined,
) => void;

export function createClickRecorder({ journal, reader, resolveHost }: RecorderDeps): RecordClick {
  const { addressOf, settingsOf } = reader;

  /** The UTM parameters of the destination that a request got. */
  function utmOf(link: CachedLink, target: Target | undefined): Buffer | undefined {
    if (link.settings === null) return undefined;
    if (target === undefined) return settingsOf(link)?.utm;
    const utm = readUtmQuery(target.url);
    return utm === undefined ? undefined : Buffer.from(utm);
  }

  // Reused: the journal encodes it at once.
  const click = newRawClick();
  return (incoming, link, target) => {
    const { head, now } = incoming;
    click.time = now;
    click.ids = link.ids;
    click.mode = link.mode;
    click.prefetch = head.prefetch;
    click.embedded = head.embedded;
    click.privacy = head.privacy;
    click.address = addressOf(incoming);
    click.host = resolveHost(head.host).host;
    click.bytes = head.bytes;
    click.userAgent = head.userAgent;
    click.referrer = head.referrer;
    click.language = head.language;
    click.query = head.query;
    click.target = target;
    click.destinationUtm = utmOf(link, target);
    journal.append(click);
  };
}
