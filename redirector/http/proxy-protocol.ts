/**
 * The header that a proxy puts before a connection's own bytes to tell whose connection it is: versions 1
 * (text) and 2 (binary) of HAProxy's PROXY protocol, "The PROXY protocol", sections 2.1 and 2.2.
 */
import { isIP } from "node:net";

import { textOf } from "./bytes.ts";

export type ProxyHeader =
  /** `address` is the client's; undefined when the proxy speaks for itself, or does not know. */
  | { kind: "header"; end: number; address: string | undefined }
  | { kind: "partial" }
  | { kind: "refused" };

/** The longest line of version 1, its end included. */
const LINE_BYTES_MAX = 107;

const SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const FIXED_BYTES = 16;

/** More than addresses and what proxies add to them (certificates' names and the like) ever take. */
const REST_BYTES_MAX = 4 * 1024;

const PARTIAL: ProxyHeader = { kind: "partial" };
const REFUSED: ProxyHeader = { kind: "refused" };

/** Reads the header at the beginning of a connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const first = bytes.subarray(0, SIGNATURE.length);
  if (SIGNATURE.subarray(0, first.length).equals(first)) return readBinary(bytes);
  return readLine(bytes);
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf("\r\n");
  if (end < 0 || end + 2 > LINE_BYTES_MAX) {
    const begun = textOf(bytes, 0, Math.min(bytes.length, START.length));
    const mayBe = START.startsWith(begun) && bytes.length < LINE_BYTES_MAX;
    return mayBe && end < 0 ? PARTIAL : REFUSED;
  }
  const [start, family, source = "", target = "", ...ports] = textOf(bytes, 0, end).split(" ");
  if (start !== START) return REFUSED;
  if (family === "UNKNOWN") return { kind: "header", end: end + 2, address: undefined };
  const version = family === "TCP4" ? 4 : family === "TCP6" ? 6 : undefined;
  const sound =
    isIP(source) === version &&
    isIP(target) === version &&
    ports.length === 2 &&
    ports.every(isPort);
  return sound ? { kind: "header", end: end + 2, address: source } : REFUSED;
}

const START = "PROXY";

const isPort = (text: string): boolean =>
  /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) < 65_536;

/** Version and command, family and transport, length of the rest, addresses. */
function readBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < FIXED_BYTES) return PARTIAL;
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13);
  const end = FIXED_BYTES + bytes.readUInt16BE(14);
  if (end > FIXED_BYTES + REST_BYTES_MAX) return REFUSED;
  if (command !== LOCAL && command !== PROXY) return REFUSED;
  if (bytes.length < end) return PARTIAL;
  if (command === LOCAL || family === UNSPECIFIED)
    return { kind: "header", end, address: undefined };
  const addressBytes = family === TCP_4 ? 4 : family === TCP_6 ? 16 : undefined;
  // Source and target, and a port of each.
  if (addressBytes === undefined || end < FIXED_BYTES + 2 * addressBytes + 4) return REFUSED;
  const source = bytes.subarray(FIXED_BYTES, FIXED_BYTES + addressBytes);
  return {
    kind: "header",
    end,
    address: addressBytes === 4 ? source.join(".") : textOfIPv6(source),
  };
}

const LOCAL = 0x20;
const PROXY = 0x21;
const UNSPECIFIED = 0x00;
const TCP_4 = 0x11;
const TCP_6 = 0x21;

/** The one short form of an address (RFC 5952), as a URL's host has it. */
function textOfIPv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
