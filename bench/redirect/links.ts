/** The links of the redirect benchmarks, and a redirector that serves them. */
import { type ActiveLink, encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { activeLink, SIGNING_KEY } from "../../test/harness/links-log.ts";
import { BenchLog } from "./bench-log.ts";

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
  LINKS_PUBLIC_KEYS: publicKeyOf(SIGNING_KEY),
  JOURNAL_DIR: journalDir,
});

/** Links whose states are made at once: those of many would take as much memory as the links. */
const MADE_AT_ONCE = 10_000;

/**
 * Publishes links of a new account in the links log; `settingsOf` is called for the settings of
 * each.
 */
export async function publishLinks(
  url: string,
  links: Links,
  settingsOf: () => RedirectSettings | undefined = () => undefined,
): Promise<void> {
  await using log = await BenchLog.open(url);
  const account = newUuid();
  for (let start = 0; start < links.length; start += MADE_AT_ONCE)
    await log.publish(
      links.slice(start, start + MADE_AT_ONCE).map((link) => {
        const settings = settingsOf();
        const record = toLinkRecord(link, account);
        return encodeLinkRecord(settings === undefined ? record : { ...record, extras: settings });
      }),
    );
}

/** The link as a state of the links log. */
export const toLinkRecord = ({ alias, destination }: Links[number], account: Uuid): ActiveLink => ({
  ...activeLink(alias, 1),
  destination,
  account_id: account,
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
