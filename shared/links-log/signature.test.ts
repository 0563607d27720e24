/**
 * Goal: a message, or a manifest, of which anything was changed is as if it were not there, and so
 * is one that a known key did not sign.
 */
import { describe, expect, test } from "bun:test";

import { headers, type MsgHdrs } from "nats";
import * as z from "zod";

import { encodeEntry, SIGNER, signerOf, SIGNING_KEY } from "../../test/harness/links-log.ts";
import { newUuid } from "../ids.ts";
import { type EntryHeader, hashOf, type Head, NO_HASH } from "./entries.ts";
import {
  envPublicKeys,
  linksKeyVariables,
  LogVerifier,
  manifestStatement,
  newSigningKey,
  publicKeyOf,
  SIGNATURE_HEADER,
} from "./signature.ts";
import { encodeManifest, type Manifest } from "./snapshots.ts";
import { decodeMessage, HEAD_HEADER, signEntry } from "./tail.ts";

const STRANGER = signerOf({ links_signing_key: "6".repeat(64) });
const OTHER_HASH = "a".repeat(64);

const headAt = (position: number): Head => ({ term: 2, position, hash: hashOf(Buffer.from("x")) });

const HEADER: EntryHeader = { database: newUuid(), term: 2, position: 7, previous: NO_HASH };
const STATES = [Buffer.from('{"alias":"a"}'), Buffer.from('{"alias":"b"}')];
const BYTES = encodeEntry(HEADER, STATES);
const ANNOUNCED = headAt(9);

const signed = (bytes: Uint8Array = BYTES, signer = SIGNER): MsgHdrs =>
  signEntry(signer, { ...HEADER, hash: hashOf(bytes) }, ANNOUNCED);

/** Headers of which one is another one; without it if it is undefined. */
function changed(name: string, value: string | undefined): MsgHdrs {
  const found = signed();
  found.delete(name);
  if (value !== undefined) found.set(name, value);
  return found;
}

test("a message has its entry, and what its publisher announced", () => {
  expect(decodeMessage(SIGNER, BYTES, signed())).toMatchObject({
    ...HEADER,
    states: STATES,
    announced: ANNOUNCED,
  });
});

test.each<[string, Uint8Array, MsgHdrs | undefined]>([
  ["another database", encodeEntry({ ...HEADER, database: newUuid() }, STATES), signed()],
  ["another term", encodeEntry({ ...HEADER, term: 3 }, STATES), signed()],
  ["another position", encodeEntry({ ...HEADER, position: 8 }, STATES), signed()],
  ["another entry before it", encodeEntry({ ...HEADER, previous: OTHER_HASH }, STATES), signed()],
  ["another state", encodeEntry(HEADER, [Buffer.from("{}")]), signed()],
  ["one state less", encodeEntry(HEADER, STATES.slice(1)), signed()],
  ["no states, as a heartbeat", encodeEntry(HEADER, []), signed()],
  ["another announced term", BYTES, changed(HEAD_HEADER, `3.9.${ANNOUNCED.hash}`)],
  ["another announced position", BYTES, changed(HEAD_HEADER, `2.8.${ANNOUNCED.hash}`)],
  ["another announced hash", BYTES, changed(HEAD_HEADER, `2.9.${OTHER_HASH}`)],
  ["no announced head", BYTES, changed(HEAD_HEADER, undefined)],
  ["no signature", BYTES, changed(SIGNATURE_HEADER, undefined)],
  ["a signature that is none", BYTES, changed(SIGNATURE_HEADER, "AAAA")],
  ["a signature of nothing", BYTES, changed(SIGNATURE_HEADER, Buffer.alloc(64).toString("base64"))],
  ["no headers", BYTES, undefined],
  ["the signature of another key", BYTES, signed(BYTES, STRANGER)],
  ["no entry", Buffer.from("{}"), signed(Buffer.from("{}"))],
])("a message with %s is not there", (_, bytes, found) => {
  expect(decodeMessage(SIGNER, bytes, found)).toBeUndefined();
  // Also right after the one that was signed.
  expect(decodeMessage(SIGNER, BYTES, signed())).toBeDefined();
  expect(decodeMessage(SIGNER, bytes, found)).toBeUndefined();
});

const MANIFEST: Manifest = {
  format: "test",
  database: HEADER.database,
  start: headAt(7),
  end: headAt(9),
  links: 3,
  bytes: 5,
  sha256: OTHER_HASH,
};
const NAME = newUuid();

const isThere = (manifest: Manifest, found: MsgHdrs, name: string = NAME): boolean =>
  SIGNER.verify(manifestStatement(name, encodeManifest(manifest)), found);

describe("a manifest", () => {
  const found = SIGNER.sign(manifestStatement(NAME, encodeManifest(MANIFEST)));

  test("is there", () => {
    expect(isThere(MANIFEST, found)).toBe(true);
  });

  test.each<[string, Partial<Manifest>]>([
    ["format", { format: "other" }],
    ["database", { database: newUuid() }],
    ["start", { start: headAt(6) }],
    ["end", { end: headAt(10) }],
    ["number of links", { links: 4 }],
    ["size", { bytes: 6 }],
    ["digest", { sha256: NO_HASH }],
  ])("with another %s is not there", (_, change) => {
    expect(isThere({ ...MANIFEST, ...change }, found)).toBe(false);
  });

  test("under another name, without a signature or with another one is not there", () => {
    expect(isThere(MANIFEST, found, newUuid())).toBe(false);
    expect(isThere(MANIFEST, headers())).toBe(false);
    expect(isThere(MANIFEST, signed())).toBe(false);
    const statement = manifestStatement(NAME, encodeManifest(MANIFEST));
    expect(isThere(MANIFEST, STRANGER.sign(statement))).toBe(false);
  });
});

test("while a key is rotated, both are known, and then only the new one", () => {
  const next = newSigningKey();
  const [old, added] = [publicKeyOf(SIGNING_KEY), publicKeyOf(next)];
  const messages = [signed(), signed(BYTES, signerOf({ links_signing_key: next }))];
  const known = (...keys: string[]) =>
    messages.map((found) => decodeMessage(new LogVerifier(keys), BYTES, found) !== undefined);
  expect(known(old)).toEqual([true, false]);
  expect(known(old, added)).toEqual([true, true]);
  expect(known(added)).toEqual([false, true]);
});

test("keys are lists of hexadecimal digits", () => {
  const key = publicKeyOf(newSigningKey());
  expect(envPublicKeys.parse(`${key}, ${publicKeyOf(SIGNING_KEY)}`)).toHaveLength(2);
  for (const wrong of ["", ",", key.slice(1), `${key}f`, key.toUpperCase(), "x".repeat(64)])
    expect(envPublicKeys.safeParse(wrong).success).toBe(false);
  expect(envPublicKeys.safeParse(Array(9).fill(key).join()).success).toBe(false);
  const keys = z.object(linksKeyVariables);
  expect(keys.parse({ LINKS_SIGNING_KEY: SIGNING_KEY }).LINKS_PUBLIC_KEYS).toEqual([]);
  for (const wrong of [undefined, "", SIGNING_KEY.slice(1), `${SIGNING_KEY},${SIGNING_KEY}`])
    expect(keys.safeParse({ LINKS_SIGNING_KEY: wrong }).success).toBe(false);
});
