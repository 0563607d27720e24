/**
 * Signatures of the links log: API processes sign what they publish, with Ed25519. What nobody
 * signed with a known key counts as if it were not there. So the password of a NATS user, or a
 * whole NATS server, is not enough to change a link.
 */
import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from "node:crypto";

import { headers as newHeaders, type MsgHdrs } from "nats";
import * as z from "zod";

import { envList } from "../env.ts";
import type { Uuid } from "../ids.ts";
import { formatHead, hashOf, type Head } from "./entries.ts";

/** The header of a message with its signature, in Base64. */
export const SIGNATURE_HEADER = "Shorthop-Signature";

/** Keys are configured as 32 bytes in hexadecimal digits; libraries take them within DER. */
const KEY = /^[0-9a-f]{64}$/;
const PRIVATE_DER = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_DER = Buffer.from("302a300506032b6570032100", "hex");

/** Each verification of a message of a stranger takes as long with each of them. */
const PUBLIC_KEYS_MAX = 8;

const SIGNATURE_BYTES = 64;

/** Verifies what API processes signed. */
export class LogVerifier {
  readonly #keys: readonly KeyObject[];
  /** The message that was verified last: the end of the tail is read again and again. */
  #last = "";

  constructor(publicKeys: readonly string[]) {
    this.#keys = [...new Set(publicKeys)].map(readPublicKey);
  }

  /** Whether one of the keys signed a statement, by the headers of its message. */
  verify(statement: string, headers: MsgHdrs | undefined): boolean {
    return this.verifyText(statement, headers?.get(SIGNATURE_HEADER) ?? "");
  }

  /** Whether a signature, in Base64, is one of a statement. */
  verifyText(statement: string, text: string): boolean {
    const signed = `${text}\n${statement}`;
    if (signed === this.#last) return true;
    const signature = Buffer.from(text, "base64");
    if (signature.length !== SIGNATURE_BYTES) return false;
    const data = Buffer.from(statement);
    if (!this.#keys.some((key) => verify(undefined, data, key, signature))) return false;
    this.#last = signed;
    return true;
  }
}

/** The keys of an API process, as it is configured. */
export type LinksKeys = {
  LINKS_SIGNING_KEY: string;
  /** Of other API processes. */
  LINKS_PUBLIC_KEYS: readonly string[];
};

/** Signs, and verifies what any API process signed. */
export class LogSigner extends LogVerifier {
  readonly #key: KeyObject;

  constructor({ LINKS_SIGNING_KEY: key, LINKS_PUBLIC_KEYS: others }: LinksKeys) {
    super([publicKeyOf(key), ...others]);
    this.#key = readSigningKey(key);
  }

  /** Returns the headers of a message with the signature of a statement. */
  sign(statement: string): MsgHdrs {
    const headers = newHeaders();
    headers.set(SIGNATURE_HEADER, this.signText(statement));
    return headers;
  }

  /** Returns the signature of a statement in Base64. */
  signText(statement: string): string {
    return sign(undefined, Buffer.from(statement), this.#key).toString("base64");
  }
}

/** The statement that is signed of an entry: which one it is, and the head that is announced. */
export const entryStatement = (
  { database, ...entry }: Head & { database: Uuid },
  announced: Head,
): string => ["entry", database, formatHead(entry), formatHead(announced)].join(" ");

/** The statement that is signed of a manifest: the snapshot's name, and the manifest's hash. */
export const manifestStatement = (name: string, manifest: Uint8Array): string =>
  ["snapshot", name, hashOf(manifest)].join(" ");

const readSigningKey = (key: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PRIVATE_DER, Buffer.from(key, "hex")]),
    format: "der",
    type: "pkcs8",
  });

const readPublicKey = (key: string): KeyObject =>
  createPublicKey({
    key: Buffer.concat([PUBLIC_DER, Buffer.from(key, "hex")]),
    format: "der",
    type: "spki",
  });

/** The public key of a signing key. */
export const publicKeyOf = (signingKey: string): string =>
  createPublicKey(readSigningKey(signingKey))
    .export({ format: "der", type: "spki" })
    .subarray(PUBLIC_DER.length)
    .toString("hex");

/** Makes a signing key: any 32 bytes are one. */
export const newSigningKey = (): string => randomBytes(32).toString("hex");

const publicKeys = envList().refine(
  (keys) => keys.length <= PUBLIC_KEYS_MAX && keys.every((key) => KEY.test(key)),
  `must be public keys of 64 hexadecimal digits, ${PUBLIC_KEYS_MAX} at most`,
);

/** The public keys of API processes. */
export const envPublicKeys = publicKeys.refine(
  (keys) => keys.length > 0,
  "must be set to the public key that shorthop links keys makes",
);

/** The keys of an API process. */
export const linksKeyVariables = {
  /** The private key that it signs with. */
  LINKS_SIGNING_KEY: z
    .string("must be set to a key that shorthop links keys makes")
    .regex(KEY, "must be 64 hexadecimal digits"),
  /** The public keys of other API processes, if they have other ones while the key is rotated. */
  LINKS_PUBLIC_KEYS: publicKeys,
};
