/** The body of a delivery as a message of a chat. */
import * as z from "zod";

import type { WebhookFormat } from "../../../shared/contracts/webhook-schemas.ts";
import { reportContent } from "../../../shared/reports/content.ts";
import { discordReport, discordSentence } from "./discord.ts";
import { describeEvent } from "./sentence.ts";
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
