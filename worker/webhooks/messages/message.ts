/** The body of a delivery as a message of a chat: one English sentence for people, or a report. */
import * as z from "zod";

import type { WebhookFormat } from "../../../shared/contracts/webhook-schemas.ts";
import { reportContent } from "../../../shared/reports/content.ts";
import { discordReport, discordSentence } from "./discord.ts";
import { slackReport, slackSentence } from "./slack.ts";

type Chat = Exclude<WebhookFormat, "standard">;

const WRITERS = {
  slack: { report: slackReport, sentence: slackSentence },
  discord: { report: discordReport, sentence: discordSentence },
} as const satisfies Record<Chat, unknown>;

const reportData = z.object({ report: reportContent });

/** Writes an event as a message: a report in full, any other event as a sentence. */
export function writeMessage(
  chat: Chat,
  type: string,
  data: Readonly<Record<string, unknown>>,
): object {
  const { report, sentence } = WRITERS[chat];
  const content = type === "report.ready" ? reportData.safeParse(data).data?.report : undefined;
  return content === undefined ? sentence(describeEvent(type, data)) : report(content);
}

/** Fields by which people know a thing, the best first. */
const NAMES = ["title", "name", "short_url", "domain", "email", "url", "id"] as const;

/** Verbs for a thing, by the second part of the event's type. */
const VERBS: Readonly<Record<string, string>> = {
  created: "was created",
  updated: "was changed",
  deleted: "was deleted",
  expired: "has expired",
  limit_reached: "has been opened as often as it may be",
  taken_down: "was taken down by the operator",
  restored: "is no longer taken down",
  verified: "was verified",
  displaced: "is no longer verified",
  rotated: "was replaced by a new one",
  revoked: "was revoked",
  joined: "has joined the account",
  removed: "is no longer in the account",
  disabled: "was disabled",
};

const KINDS: Readonly<Record<string, string>> = {
  link: "The link",
  account: "The account",
  domain: "The domain",
  key: "The API key",
  member: "The member",
  share: "The share",
  webhook: "The webhook",
};

const thing = z.looseObject({});
const changes = z.record(z.string(), z.unknown());
const clicks = z.array(z.looseObject({ link_id: z.string().optional() }));

/** Describes an event by its type and `data`; of types that are not known, it names the type. */
function describeEvent(type: string, data: Readonly<Record<string, unknown>>): string {
  if (type === "webhook.test") return "This is a test of the webhook.";
  if (type === "clicks.recorded") return describeClicks(data);
  const [kind = "", action = ""] = type.split(".");
  const [subject, verb] = [KINDS[kind], VERBS[action]];
  const found = thing.safeParse(data[kind]).data;
  if (subject === undefined || verb === undefined || found === undefined)
    return `Something happened: ${type}.`;
  return `${subject} ${nameOf(found)} ${verb}${describeChanges(data)}.`;
}

function nameOf(found: Readonly<Record<string, unknown>>): string {
  for (const field of NAMES) {
    const name = found[field];
    if (typeof name === "string" && name !== "") return `“${name}”`;
  }
  return "without a name";
}

/** The names of the fields that changed, without their values. */
function describeChanges(data: Readonly<Record<string, unknown>>): string {
  const fields = Object.keys(changes.safeParse(data["changes"]).data ?? {});
  return fields.length === 0 ? "" : `: ${fields.join(", ")}`;
}

function describeClicks(data: Readonly<Record<string, unknown>>): string {
  const recorded = clicks.safeParse(data["clicks"]).data ?? [];
  const links = new Set(recorded.map(({ link_id }) => link_id)).size;
  return `${count(recorded.length, "click")} on ${count(links, "link")}.`;
}

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;
