/**
 * Lists of hosts to which no link may lead: files and URLs that the operator names, in the formats
 * in which such lists are published. Each process reads them again every hour, and keeps hashes of
 * their hosts: eight bytes for each.
 */
import { isIP } from "node:net";

import { toAsciiHost } from "../../shared/contracts/host-names.ts";
import { envHosts, envList } from "../../shared/env.ts";
import { isWithin, normalizeHost } from "../../shared/hosts.ts";
import type { Log } from "../../shared/log.ts";

/** How often lists are read, and how long one may take. */
export const REFRESH_MS = 3_600_000;
const READ_MS = 300_000;

/**
 * Maximum characters of a line, bytes of a list, and hosts of one: the largest have some millions.
 */
const LINE_LENGTH_MAX = 8_192;
const LIST_BYTES_MAX = 1024 ** 3;
const HOSTS_MAX = 20_000_000;

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters. */
const HOST_LENGTH_MAX = 253;

export type HostListConfig = {
  DESTINATION_LISTS: readonly string[];
  DESTINATION_LISTS_EXCEPT: readonly string[];
};

/** The lists of a process. */
export class HostLists {
  readonly #sources: readonly string[];
  readonly #exceptions: ReadonlySet<string>;
  readonly #log: Log;
  readonly #lists = new Map<string, { hosts: HostSet; digest: string }>();
  /** When the lists were last found to have changed, in Unix milliseconds; 0 before the first. */
  changedAt = 0;

  constructor(config: HostListConfig, log: Log) {
    this.#sources = config.DESTINATION_LISTS;
    this.#exceptions = new Set(config.DESTINATION_LISTS_EXCEPT);
    this.#log = log;
  }

  /** Identifies the contents of the lists; "" without any. */
  get version(): string {
    return [...this.#lists.values()].map(({ digest }) => digest).join(" ");
  }

  /** The list that has a URL's host, or a name above it with all below; undefined for none. */
  find(hostname: string): string | undefined {
    const host = normalizeHost(hostname);
    if (this.#lists.size === 0 || isWithin(this.#exceptions, host)) return undefined;
    for (const [source, { hosts }] of this.#lists) if (hosts.has(host)) return source;
    return undefined;
  }

  /** Reads the lists anew; keeps what it has of one that cannot be read. */
  async refresh(): Promise<void> {
    for (const source of this.#sources) {
      try {
        const { hosts, digest } = await readList(source);
        if (this.#lists.get(source)?.digest !== digest) this.changedAt = Date.now();
        this.#lists.set(source, { hosts, digest });
        this.#log.info({ list: nameOf(source), hosts: hosts.size }, "host_list_read");
      } catch (error) {
        this.#log.warn({ error, list: nameOf(source) }, "host_list_not_read");
      }
    }
  }
}

export const hostListVariables = {
  /** Files, by absolute paths, and URLs of lists of hosts to which no link may lead. */
  DESTINATION_LISTS: envList().refine(
    (sources) => sources.every((source) => /^(?:\/|https?:)/.test(source) && isSource(source)),
    "must be absolute paths, or http or https URLs",
  ),
  /** Hosts that count as on no list, with all names below them. */
  DESTINATION_LISTS_EXCEPT: envHosts(),
};

const isSource = (source: string): boolean => source.startsWith("/") || URL.canParse(source);

/** A source as logs and reviews name it: of a URL, which may have a secret, only the origin. */
export const nameOf = (source: string): string =>
  source.startsWith("/") ? source : new URL(source).origin;

async function readList(source: string): Promise<{ hosts: HostSet; digest: string }> {
  const stream = source.startsWith("/") ? Bun.file(source).stream() : await download(source);
  const hosts = new HostSet();
  const hasher = new Bun.CryptoHasher("sha256");
  const decoder = new TextDecoder();
  let [rest, bytes] = ["", 0];
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > LIST_BYTES_MAX) throw new Error("The list is too large.");
    hasher.update(chunk);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LINE_LENGTH_MAX) throw new Error("The list has lines that are too long.");
    for (const line of lines) for (const name of readLine(line)) hosts.add(name);
    if (hosts.size > HOSTS_MAX) throw new Error("The list has too many hosts.");
    // Each chunk takes some milliseconds: requests are handled in between.
    await Bun.sleep(0);
  }
  for (const name of readLine(rest)) hosts.add(name);
  hosts.seal();
  return { hosts, digest: hasher.digest("hex") };
}

async function download(url: string): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(url, { signal: AbortSignal.timeout(READ_MS) });
  if (!response.ok || response.body === null)
    throw new Error(`The response is ${response.status}.`);
  return response.body;
}

/** `||example.com^`, with options that do not narrow it. */
const ADBLOCK = /^\|\|([^/^$*|\s]+)\^?(?:\$(?:all|document|doc))?$/;

/**
 * The hosts of a line, with a dot before one that stands for all names below it as well. A line is
 * of a hosts file (`0.0.0.0 host`), an AdBlock list (`||host^`), URLhaus' CSV, or a plain list
 * (`host`, `.host`, `*.host`); what is none of these has none.
 */
export function readLine(line: string): string[] {
  const text = line.trim();
  if (/^(?:[#!;[]|@@|$)/.test(text)) return [];
  if (text.startsWith('"')) {
    const url = URL.parse(text.split('","')[2] ?? "");
    return url === null ? [] : toNames("", [url.host]);
  }
  if (text.startsWith("||")) return toNames(".", [ADBLOCK.exec(text)?.[1] ?? ""]);
  const comment = text.search(/\s#/);
  const names = text.slice(0, comment < 0 ? undefined : comment).trimEnd();
  const [first = "", ...others] = names.split(/\s+/);
  if (others.length > 0) return isIP(first) === 0 ? [] : toNames("", others);
  return toNames(".", [first.replace(/^\*?\./, "")]);
}

function toNames(prefix: "" | ".", hosts: readonly string[]): string[] {
  return hosts
    .map((host) => normalizeHost(toAsciiHost(host)))
    .filter((host) => host.length <= HOST_LENGTH_MAX && /^[\w-]+(?:\.[\w-]+)+$|^\[/.test(host))
    .map((host) => prefix + host);
}

/** Hashes of a run, which is sorted at once without delaying requests. */
const RUN_LENGTH = 131_072;

/** Another one in each process, so that nobody can find two names with one hash. */
const SEED = crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n;

/** Integers of so many bits are exact: of a million hosts and a name, one in 10^10 is mistaken. */
const HASH_BITS = 53;

const hash = (name: string): number =>
  Number(BigInt.asUintN(HASH_BITS, Bun.hash.wyhash(name, SEED)));

/** A set of names as hashes, in sorted runs. Add all names, then seal it. */
export class HostSet {
  readonly #runs: Float64Array[] = [];
  #run = new Float64Array(RUN_LENGTH);
  #length = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a host; with a dot before it, also all names below it. */
  add(name: string): void {
    this.#run[this.#length++] = hash(name);
    this.#size++;
    if (this.#length === RUN_LENGTH) this.seal();
  }

  /** Ends the last run, so that its names are found. */
  seal(): void {
    this.#runs.push(this.#run.subarray(0, this.#length).toSorted());
    this.#length = 0;
  }

  /** Whether it has a host, or a name above it with all below. */
  has(host: string): boolean {
    if (this.#hasName(host)) return true;
    for (let at = 0; ;) {
      if (this.#hasName(`.${host.slice(at)}`)) return true;
      const dot = host.indexOf(".", at);
      if (dot < 0) return false;
      at = dot + 1;
    }
  }

  #hasName(name: string): boolean {
    const hashed = hash(name);
    return this.#runs.some((run) => isInRun(run, hashed));
  }
}

function isInRun(run: Float64Array, hashed: number): boolean {
  let [low, high] = [0, run.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((run[middle] ?? 0) < hashed) low = middle + 1;
    else high = middle;
  }
  return run[low] === hashed;
}
