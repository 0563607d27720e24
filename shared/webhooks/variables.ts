/** Variables of the processes that create webhooks and deliver to them. */
import * as z from "zod";

import { AddressList, isBlock, isPublicAddress } from "../addresses.ts";
import { envList } from "../env.ts";

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
