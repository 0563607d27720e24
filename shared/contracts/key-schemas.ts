/** Schemas of requests about API keys, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { DAY_SECONDS } from "../durations.ts";
import { strictComponent } from "./components.ts";
import { EXPIRES_AT } from "./examples.ts";
import { instant, plainText } from "./text-schemas.ts";

/** The permissions of a key. */
export const SCOPES = [
  "links:read",
  "links:write",
  "links:delete",
  "analytics:read",
  "domains:read",
  "domains:write",
  "keys:read",
  "keys:write",
  "shares:read",
  "shares:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "audit:read",
  "reports:read",
  "reports:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Longest time that a rotated key stays valid beside its replacement. */
const GRACE_SECONDS_MAX = 7 * DAY_SECONDS;

const KEY_NAME_LENGTH_MAX = 255;

/** Networks of a key: each call walks all of them. */
export const KEY_NETWORKS_MAX = 50;

/** The longest text of an IPv6 block has 43 characters, in which its last 32 bits may be IPv4. */
const NETWORK_LENGTH_MAX = 50;

/** Descriptions of fields that a key has in requests and responses. */
export const keyNameMeta = { description: "A name for people.", examples: ["CI"] };

export const scopesMeta = {
  description: "What the key may do.",
  examples: [["links:read", "links:write"] satisfies Scope[]],
};

export const allowedNetworksMeta = {
  description:
    "The networks in which the key works, as CIDR blocks or addresses, IPv4 and IPv6; everywhere when empty. A call from elsewhere is `forbidden`.",
  examples: [["203.0.113.0/24", "2001:db8::/48"]],
};

const allowedNetworks = z.array(z.string().max(NETWORK_LENGTH_MAX)).max(KEY_NETWORKS_MAX);

export const newKeyBody = strictComponent("NewApiKey", "An API key to create.", {
  name: plainText(KEY_NAME_LENGTH_MAX).min(1).meta(keyNameMeta),
  type: z.enum(["live", "test"]).optional().meta({
    description:
      "`live` or `test`; the type of the calling key when left out. A key creates only keys of its own type.",
  }),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).meta(scopesMeta),
  expires_at: instant
    .nullish()
    .meta({ description: "When it expires; null for never.", examples: [EXPIRES_AT] }),
  allowed_networks: allowedNetworks.default([]).meta(allowedNetworksMeta),
});

export const rotateKeyBody = strictComponent("KeyRotation", "How to replace a key.", {
  grace_seconds: z
    .int()
    .min(0)
    .max(GRACE_SECONDS_MAX)
    .default(DAY_SECONDS)
    .meta({
      description:
        "How many seconds the old key stays valid: a day when left out, a week at most; 0 ends it at once.",
      examples: [3600],
    }),
  allowed_networks: allowedNetworks.optional().meta({
    ...allowedNetworksMeta,
    description: "Other networks for the new key; those of the old one when left out.",
  }),
});
