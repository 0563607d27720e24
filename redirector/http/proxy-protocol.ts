/**
 * Parses the header in which a proxy sends the client's address before a connection's own bytes:
 * versions 1 (text) and 2 (binary) of HAProxy's PROXY protocol, "The PROXY protocol", sections 2.1
 * and 2.2.
 */
import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

import { decodeLatin1 } from "./bytes.ts";

export type ProxyHeader =
  /** `address` is undefined for the proxy's own connection, and for an unknown client. */
  | { kind: "header"; end: number; address: string | undefined }
  | { kind: "partial" }
  | { kind: "rejected" };

/** Maximum bytes of the line of version 1, including its CRLF. */
const LINE_BYTES_MAX = 107;

const SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const FIXED_BYTES = 16;

/** More than addresses and the extensions of proxies (names of certificates, for example) need. */
const REST_BYTES_MAX = 4 * 1024;

const PARTIAL: ProxyHeader = { kind: "partial" };
const REJECTED: ProxyHeader = { kind: "rejected" };

/** Parses the header at the start of a connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const first = bytes.subarray(0, SIGNATURE.length);
  if (SIGNATURE.subarray(0, first.length).equals(first)) return readVersion2(bytes);
  return readVersion1(bytes);
}

/** Version 1: a line of text. */
function readVersion1(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf("\r\n");
  if (end < 0 || end + 2 > LINE_BYTES_MAX) {
    const beginning = decodeLatin1(bytes, 0, Math.min(bytes.length, START.length));
    const isPossible = START.startsWith(beginning) && bytes.length < LINE_BYTES_MAX;
    return isPossible && end < 0 ? PARTIAL : REJECTED;
  }
  const [start, family, source = "", target = "", ...ports] = decodeLatin1(bytes, 0, end).split(
    " ",
  );
  if (start !== START) return REJECTED;
  if (family === "UNKNOWN") return { kind: "header", end: end + 2, address: undefined };
  const version = family === "TCP4" ? 4 : family === "TCP6" ? 6 : undefined;
  const isValid =
    isIP(source) === version &&
    isIP(target) === version &&
    ports.length === 2 &&
    ports.every(isPort);
  return isValid ? { kind: "header", end: end + 2, address: source } : REJECTED;
}

const START = "PROXY";

const isPort = (text: string): boolean =>
  /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) < 65_536;

/** Version 2: version and command, family and transport, length of the rest, addresses. */
function readVersion2(bytes: Buffer): ProxyHeader {
  if (bytes.length < FIXED_BYTES) return PARTIAL;
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13);
  const end = FIXED_BYTES + bytes.readUInt16BE(14);
  if (end > FIXED_BYTES + REST_BYTES_MAX) return REJECTED;
  if (command !== LOCAL && command !== PROXY) return REJECTED;
  if (bytes.length < end) return PARTIAL;
  if (command === LOCAL || family === UNSPECIFIED)
    return { kind: "header", end, address: undefined };
  const addressBytes = family === TCP_4 ? 4 : family === TCP_6 ? 16 : undefined;
  // Source and target address, and a port for each.
  if (addressBytes === undefined || end < FIXED_BYTES + 2 * addressBytes + 4) return REJECTED;
  const source = bytes.subarray(FIXED_BYTES, FIXED_BYTES + addressBytes);
  return { kind: "header", end, address: ipaddr.fromByteArray([...source]).toString() };
}

const LOCAL = 0x20;
const PROXY = 0x21;
const UNSPECIFIED = 0x00;
const TCP_4 = 0x11;
const TCP_6 = 0x21;
