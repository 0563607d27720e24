/** Records clicks in the journal. */
import { newRawClick } from "../../shared/contracts/click-record.ts";
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
    click.linkUtm = link.settings === null ? undefined : settingsOf(link)?.utm;
    journal.append(click);
  };
}
