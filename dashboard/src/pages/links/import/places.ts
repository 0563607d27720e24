/** Where the short links of a row are: aliases and domains. */
import { t } from "../../../languages/translate.ts";
import { readShortLink } from "../csv-values.ts";
import type { NoteKind, PlanInput, Problem, ReadCell } from "./model.ts";

/** Where one link will be. Without an alias, one is generated; without a domain, it is the service's own. */
export type Place = {
  alias?: string;
  domain?: string;
  problem?: Problem;
  notes: readonly NoteKind[];
};

/** A short link as a file has it; the alias is empty if the file has the URL of the domain itself. */
type ShortLink = { alias?: string; host?: string };

/** Separates several custom back-halves of one link. */
const SEPARATORS = /[\s,;|]+/;

/**
 * Returns the places of a row's links: those of its custom back-halves, and the other one if it is requested or the only
 * one.
 */
export function readPlaces(
  read: ReadCell,
  input: Pick<PlanInput, "options" | "hosts">,
): { places: readonly Place[]; notes: readonly NoteKind[] } {
  const other = readOther(read);
  const customs = readCustoms(read, other);
  const toPlaces = (links: readonly ShortLink[]) => links.map((link) => findPlace(link, input));
  if (customs.length === 0) return { places: toPlaces([other]), notes: [] };
  const isAnother =
    other.alias !== undefined &&
    customs.every(({ alias, host }) => alias !== other.alias || host !== other.host);
  if (!isAnother) return { places: toPlaces(customs), notes: [] };
  return input.options.backHalves === "both"
    ? { places: toPlaces([...customs, other]), notes: ["both_halves"] }
    : { places: toPlaces(customs), notes: ["custom_wins"] };
}

/** Returns the hosts of a row's short links, as the file has them. */
export function listHosts(read: ReadCell): string[] {
  const other = readOther(read);
  return [other, ...readCustoms(read, other)].flatMap(({ host }) => host ?? []);
}

/** The custom short links, which may lack a host if the other one has it. */
const readCustoms = (read: ReadCell, { host }: ShortLink): ShortLink[] =>
  read("custom_short_url")
    .split(SEPARATORS)
    .filter((text) => text !== "")
    .map((text) => withHost(readShortLink(text), host));

/** Reads the short link of a row, without custom back-halves. The columns of alias and domain take precedence over a short URL. */
function readOther(read: ReadCell): ShortLink {
  const url = read("short_url");
  const path = read("alias");
  const link: ShortLink = {
    ...(url === "" ? {} : readShortLink(url)),
    ...(path === "" ? {} : readShortLink(path)),
  };
  const domain = read("domain");
  return domain === "" ? withHost(link, undefined) : withHost({ ...link, host: domain }, undefined);
}

/** The link with its host in ASCII, as domains are stored; `fallback` if it has none. */
function withHost(link: ShortLink, fallback: string | undefined): ShortLink {
  const host = link.host ?? fallback;
  if (host === undefined) return link;
  return { ...link, host: URL.parse(`http://${host}`)?.hostname ?? host };
}

function findPlace(
  { alias, host }: ShortLink,
  { options: { domain: choice }, hosts }: Pick<PlanInput, "options" | "hosts">,
): Place {
  if (alias === "") return fail("no_alias", t("import.reasons.noAlias"));
  const named = alias === undefined ? {} : { alias };
  const notes: NoteKind[] = alias === undefined ? ["generated_alias"] : [];
  if ("domain" in choice) {
    const isMoved =
      host !== undefined && host !== (choice.domain === "" ? hosts.own : choice.domain);
    const domain = choice.domain === "" ? {} : { domain: choice.domain };
    return { ...named, ...domain, notes: isMoved ? [...notes, "moved"] : notes };
  }
  if (host === undefined || host === hosts.own) return { ...named, notes };
  if (hosts.domains.has(host)) return { ...named, domain: host, notes };
  return { ...named, ...fail("foreign_domain", t("import.reasons.foreignDomain", { host })) };
}

const fail = (kind: Problem["kind"], message: string): Place => ({
  problem: { kind, message },
  notes: [],
});
