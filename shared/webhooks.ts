/** What the processes that create webhooks and those that deliver to them agree on. */
import { hkdfSync, randomBytes } from "node:crypto";

import * as z from "zod";

import { AddressList, isBlock, isPublicAddress } from "./addresses.ts";
import { envList } from "./env.ts";
import type { Uuid } from "./ids.ts";

const ALL_PORTS = "*";

const PORT_MAX = 65_535;

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX;

export const webhookVariables = {
  /**
   * The secret that those of webhooks are derived from; the same for API and workers. Without it
   * there are no webhooks.
   */
  WEBHOOKS_SECRET: z.string().min(32, "must have 32 characters at least").optional(),
  /** Addresses and CIDR blocks that are not public, but may receive webhooks. */
  WEBHOOK_NETWORKS_ALLOWED: envList().refine(
    (entries) => entries.every(isBlock),
    "must be addresses and CIDR blocks",
  ),
  /** Ports that may receive webhooks, or `*` for all. */
  WEBHOOK_PORTS_ALLOWED: envList("443,80").refine(
    (ports) => ports.every((port) => port === ALL_PORTS || isPort(port)),
    "must be port numbers, or *",
  ),
};

type Variables = { WEBHOOK_NETWORKS_ALLOWED: string[]; WEBHOOK_PORTS_ALLOWED: string[] };

/** Which receivers an installation delivers to. */
export class ReceiverRules {
  readonly #listed: AddressList;
  readonly #ports: ReadonlySet<string>;
  /** Whether some private addresses are allowed, so that private names may be right. */
  readonly allowsPrivate: boolean;

  constructor({ WEBHOOK_NETWORKS_ALLOWED: networks, WEBHOOK_PORTS_ALLOWED: ports }: Variables) {
    this.#listed = new AddressList(networks);
    this.#ports = new Set(ports);
    this.allowsPrivate = networks.length > 0;
  }

  /** Throws for a text that is no address. */
  isAddressAllowed(address: string): boolean {
    return isPublicAddress(address) || this.#listed.has(address);
  }

  isPortAllowed(port: number): boolean {
    return this.#ports.has(ALL_PORTS) || this.#ports.has(String(port));
  }
}

/** The port of an http or https URL. */
export const portOf = ({ protocol, port }: URL): number => {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
};

// The secrets of webhooks. They are derived from a random salt, which the database has, and the
// installation's own secret, which it has not. So a copy of the database is not enough to sign.

const SALT_BYTES = 16;

/** Standard Webhooks: between 24 and 64 bytes. */
const SECRET_BYTES = 32;

/** Before the key in Base64, as Standard Webhooks writes secrets. */
const SECRET_PREFIX = "whsec_";

export const newSalt = (): Buffer => randomBytes(SALT_BYTES);

/** The key of one secret of a webhook. */
export const deriveKey = (ownSecret: string, webhookId: Uuid, salt: Uint8Array): Buffer =>
  Buffer.from(hkdfSync("sha256", ownSecret, salt, `shorthop webhook ${webhookId}`, SECRET_BYTES));

/** The secret as its owner gets it, e.g. `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…`. */
export const writeSecret = (key: Buffer): string => `${SECRET_PREFIX}${key.toString("base64")}`;
