/** The links of the redirect benchmarks, and a redirector that serves them. */
import { connect } from "nats";

import { type ActiveLink, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { ensureLinksStream, linkSubject } from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";

export type Links = readonly { alias: string; destination: string }[];

/** `count` links: `/link000001` and so on after `from`, with destinations of realistic length. */
export const generateLinks = (count: number, from = 0): Links =>
  Array.from({ length: count }, (_, offset) => {
    const i = from + offset;
    return {
      alias: `link${String(i + 1).padStart(6, "0")}`,
      destination: `https://shop-${i % 4_096}.example.com/campaign/${i}?ref=newsletter&id=${i * 7_919}`,
    };
  });

/** The environment of a redirector on loopback. */
export const redirectorEnv = (natsUrl: string, port: number, journalDir: string) => ({
  NATS_URL: natsUrl,
  SHORT_URL: `http://localhost:${port}`,
  SHORT_HOSTS: "localhost,127.0.0.1",
  REDIRECTOR_HOST: "127.0.0.1",
  REDIRECTOR_PORT: String(port),
  REDIRECTOR_METRICS_PORT: "0",
  JOURNAL_DIR: journalDir,
});

/**
 * Publishes links of a new account to the links stream; their versions start above `versionsFrom`,
 * and `settingsOf` is called for the settings of each.
 */
export async function publishLinks(
  url: string,
  links: Links,
  versionsFrom = 0,
  settingsOf: () => RedirectSettings | undefined = () => undefined,
): Promise<void> {
  const connection = await connect(natsLogin(url));
  await ensureLinksStream(await connection.jetstreamManager(), 1);
  const account = newUuid();
  for (const [i, link] of links.entries()) {
    const settings = settingsOf();
    connection.publish(
      linkSubject({ domain: "", alias: link.alias }),
      encodeLinkRecord({
        ...toLinkRecord(link, versionsFrom + i + 1, account),
        ...(settings === undefined ? {} : { extras: settings }),
      }),
    );
    if (i % 1_000 === 999) await connection.flush();
  }
  await connection.drain();
}

/**
 * Above the versions that an API draws, microseconds since 1970: a host removes what is older than
 * the epoch of the feed.
 */
const FIRST_VERSION = 4e15;

/** The link as a record of the links stream; versions count from 0. */
export const toLinkRecord = (
  { alias, destination }: Links[number],
  version: number,
  account: Uuid,
): ActiveLink => ({
  state: "active",
  version: FIRST_VERSION + version,
  domain: "",
  alias,
  mode: "live",
  destination,
  link_id: newUuid(),
  account_id: account,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

/** Requests every link once, so that all are cached. */
export async function warmCache(at: number, links: Links, isSecure = false): Promise<void> {
  const origin = `${isSecure ? "https" : "http"}://127.0.0.1:${at}`;
  for (let start = 0; start < links.length; start += 500) {
    await Promise.all(
      links.slice(start, start + 500).map(({ alias }) =>
        fetch(`${origin}/${alias}`, {
          method: "HEAD",
          redirect: "manual",
          tls: { rejectUnauthorized: false },
        }),
      ),
    );
  }
}
