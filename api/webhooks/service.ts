/** Webhooks: creating and changing them, and their deliveries. Workers deliver. */
import { isIP } from "node:net";

import { parseWebUrl } from "../../shared/contracts/web-url.ts";
import { ALL_EVENTS } from "../../shared/contracts/webhook-schemas.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { deriveKey, newSalt, writeSecret } from "../../shared/webhooks/secret.ts";
import { portOf, type ReceiverRules } from "../../shared/webhooks/variables.ts";
import type { EventPositions } from "../events/positions.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { classifyHost } from "../links/destinations.ts";
import { countOwned, lockAndCountOwned, missing, requireFound } from "../owned-rows.ts";
import type { Sql } from "../postgres.ts";
import {
  countDeliveries,
  type DeliveryStatus,
  insertTest,
  listDeliveries,
  retryDelivery,
} from "./deliveries-sql.ts";
import type {
  CreateWebhookBody,
  DeliveryRow,
  UpdateWebhookBody,
  WebhookFields,
  WebhookRow,
} from "./model.ts";
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  replaceSalt,
  setPosition,
  updateWebhook,
} from "./sql.ts";

/** Maximum webhooks of an account and mode. */
const WEBHOOKS_MAX = 50;

/** How long the secret before the current one signs as well. */
const OLD_SECRET_SECONDS = DAY_SECONDS;

export type WebhookService = ReturnType<typeof createWebhookService>;

type WebhookServiceDeps = {
  sql: Sql;
  /** Where webhooks begin to read the ledger. */
  positions: EventPositions;
  /** What secrets are derived from; undefined where webhooks are not set up. */
  ownSecret: string | undefined;
  rules: ReceiverRules;
};

/** A webhook with the secret that was just made. */
type WebhookWithSecret = { row: WebhookRow; secret: string };

const DEFAULTS = {
  link_ids: null,
  tags: null,
  domains: null,
  description: null,
  format: "standard",
} as const;

export const createWebhookService = (deps: WebhookServiceDeps) => ({
  ...createWebhookOperations(deps),
  ...createDeliveryOperations(deps),
});

function createWebhookOperations({ sql, positions, ownSecret, rules }: WebhookServiceDeps) {
  /** Returns a new secret's salt and text. */
  function makeSecret(id: Uuid): { salt: Buffer; secret: string } {
    if (ownSecret === undefined) throw notSetUp();
    const salt = newSalt();
    return { salt, secret: writeSecret(deriveKey(ownSecret, id, salt)) };
  }

  return {
    /**
     * Creates a webhook; only this function and `rotate` return a secret. Throws `invalid_request`,
     * `invalid_url`, `quota_exceeded`, and `unavailable` where webhooks are not set up, or too many
     * events are unread.
     */
    async create(
      owner: AccountScope,
      id: Uuid,
      { url, events, ...body }: CreateWebhookBody,
    ): Promise<WebhookWithSecret> {
      const { salt, secret } = makeSecret(id);
      const required = { url: readUrl(url, rules), events: readEvents(events) };
      const fields = { ...DEFAULTS, ...readFields(body, rules), ...required };
      const webhook = { ...fields, id, salt, position: await positions.last(owner) };
      const row = await sql.begin(async (transaction) => {
        if ((await lockAndCountOwned(transaction, owner, "webhooks")) >= WEBHOOKS_MAX)
          throw tooMany();
        return await insertWebhook(transaction, owner, webhook);
      });
      return { row, secret };
    },

    get: (owner: AccountScope, id: Uuid | undefined): Promise<WebhookRow> => get(sql, owner, id),

    /** Lists the owner's webhooks, newest first. */
    list: (owner: AccountScope, request: ListRequest): Promise<ListPart<WebhookRow>> =>
      readPart(
        request,
        (limit, start) => listWebhooks(sql, owner, limit, start),
        () => countOwned(sql, owner, "webhooks"),
      ),

    /** Changes the fields in the body; throws `not_found`, `invalid_request` and `invalid_url`. */
    async update(
      owner: AccountScope,
      id: Uuid | undefined,
      { status, ...body }: UpdateWebhookBody,
    ): Promise<WebhookRow> {
      const change = { ...readFields(body, rules), ...(status === undefined ? {} : { status }) };
      if (id === undefined) throw notFound("webhook");
      const row = await updateWebhook(sql, owner, id, change);
      return await requireFound(row, sql, owner, { table: "webhooks", id });
    },

    /** Gives a webhook another secret, beside which the current one is valid for a day. */
    async rotate(owner: AccountScope, id: Uuid | undefined): Promise<WebhookWithSecret> {
      if (id === undefined) throw notFound("webhook");
      const { salt, secret } = makeSecret(id);
      const values = { salt, oldSeconds: OLD_SECRET_SECONDS };
      const row = await replaceSalt(sql, owner, id, values);
      return { row: await requireFound(row, sql, owner, { table: "webhooks", id }), secret };
    },

    /** Deletes a webhook with its deliveries; throws `not_found`. */
    async remove(owner: AccountScope, id: Uuid | undefined): Promise<void> {
      if (id === undefined || !(await deleteWebhook(sql, owner, id)))
        throw await missing(sql, owner, "webhooks", id);
    },
  };
}

const createDeliveryOperations = ({ sql, positions }: WebhookServiceDeps) => ({
  /** Sends a webhook an event of its own; throws `not_found`, and `conflict` unless active. */
  async test(owner: Author, id: Uuid | undefined): Promise<DeliveryRow> {
    const webhook = await get(sql, owner, id);
    requireActive(webhook);
    const data = { webhook: { id: encodeId("wh", webhook.id), url: webhook.url } };
    return await insertTest(sql, owner, { webhookId: webhook.id, data });
  },

  /** Lists the deliveries of a webhook, newest first; throws `not_found`. */
  async listDeliveries(
    owner: AccountScope,
    id: Uuid | undefined,
    status: DeliveryStatus | undefined,
    request: ListRequest,
  ): Promise<ListPart<DeliveryRow>> {
    const webhook = await get(sql, owner, id);
    return await readPart(
      request,
      (limit, start) => listDeliveries(sql, webhook.id, status, limit, start),
      () => countDeliveries(sql, webhook.id, status),
    );
  },

  /** Makes a delivery due now; throws `not_found`, and `conflict` unless the webhook is active. */
  async retry(
    owner: AccountScope,
    id: Uuid | undefined,
    deliveryId: Uuid | undefined,
  ): Promise<DeliveryRow> {
    const webhook = await get(sql, owner, id);
    requireActive(webhook);
    const row =
      deliveryId === undefined ? undefined : await retryDelivery(sql, webhook.id, deliveryId);
    if (row === undefined) throw notFound("delivery");
    return row;
  },

  /**
   * Delivers all events after one again; throws `not_found`, `invalid_request`, and `unavailable`
   * when too many events are unread.
   */
  async replay(owner: AccountScope, id: Uuid | undefined, after: string): Promise<void> {
    const webhook = await get(sql, owner, id);
    const position = await positions.find(owner, after);
    if (position === undefined)
      throw invalidField("starting_after", "must be the id of an event that is still kept");
    await setPosition(sql, owner, webhook.id, position);
  },
});

async function get(sql: Sql, owner: AccountScope, id: Uuid | undefined): Promise<WebhookRow> {
  const row = id === undefined ? undefined : await findWebhook(sql, owner, id);
  return await requireFound(row, sql, owner, { table: "webhooks", id });
}

function requireActive({ status }: WebhookRow): void {
  if (status !== "active") throw new ApiError("conflict", `The webhook is ${status}.`);
}

/** Converts the fields of a request. Throws `invalid_request` and `invalid_url`. */
function readFields(
  { url, events, link_ids, ...others }: UpdateWebhookBody,
  rules: ReceiverRules,
): Partial<WebhookFields> {
  const change: Partial<WebhookFields> = {};
  if (url !== undefined) change.url = readUrl(url, rules);
  if (events !== undefined) change.events = readEvents(events);
  if (link_ids !== undefined) change.link_ids = link_ids?.map(readLinkId) ?? null;
  for (const field of ["tags", "domains"] as const) {
    const value = others[field];
    if (value !== undefined) change[field] = value;
  }
  if (others.description !== undefined) change.description = others.description;
  if (others.format !== undefined) change.format = others.format;
  return change;
}

function readEvents(events: readonly string[]): string[] {
  if (events.includes(ALL_EVENTS) && events.length > 1)
    throw invalidField("events", "must be * alone, or types");
  return [...new Set(events)];
}

function readLinkId(id: string): Uuid {
  const uuid = decodeId("link", id);
  if (uuid === undefined) throw invalidField("link_ids", "must be ids of links");
  return uuid;
}

/**
 * Checks what can be known of a receiver without resolving its name; workers check the addresses
 * whenever they connect.
 */
function readUrl(text: string, rules: ReceiverRules) {
  const parsed = parseWebUrl(text);
  if ("problem" in parsed) throw invalidUrl(parsed.problem);
  const { url } = parsed;
  if (!rules.isPortAllowed(portOf(url))) throw invalidUrl(`Port ${portOf(url)} may not be used.`);
  const address = url.hostname.replace(/^\[|\]$/g, "");
  const isAllowed =
    isIP(address) === 0
      ? rules.allowsPrivate || classifyHost(url.hostname.replace(/\.$/, "")) === "public"
      : rules.isAddressAllowed(address);
  if (!isAllowed) throw invalidUrl("The URL must lead to the public internet.");
  url.hash = "";
  return url.href;
}

const invalidUrl = (message: string): ApiError =>
  new ApiError("invalid_url", message, { param: "url" });

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${WEBHOOKS_MAX} webhooks already. Delete one of them first.`,
  );

const notSetUp = (): ApiError =>
  new ApiError("unavailable", "This installation has no webhooks: WEBHOOKS_SECRET is not set.");
