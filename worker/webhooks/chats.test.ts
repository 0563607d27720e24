/**
 * Goal: messages are what Slack and Discord accept, and nothing that somebody wrote mentions
 * anybody or becomes markup.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import * as z from "zod";

import type { ReportContent } from "../../shared/reports/content.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { REPORT_CONTENT } from "../../test/harness/report-content.ts";
import { writeMessage } from "./events.ts";

const HOSTILE = "<!channel> <@U1|x> & @everyone [x](https://evil.example) **b** `c` | ~d~ > # e";

/** Limits of https://docs.slack.dev/reference/block-kit/blocks. */
const mrkdwn = (max: number) =>
  z.strictObject({
    type: z.literal("mrkdwn"),
    text: z.string().min(1).max(max),
    verbatim: z.literal(true),
  });
const slackMessage = z.strictObject({
  text: z.string().min(1).max(40_000),
  blocks: z
    .array(
      z.discriminatedUnion("type", [
        z.strictObject({
          type: z.literal("header"),
          text: z.strictObject({
            type: z.literal("plain_text"),
            text: z.string().min(1).max(150),
            emoji: z.boolean(),
          }),
        }),
        z.strictObject({
          type: z.literal("section"),
          text: mrkdwn(3_000),
          fields: z.array(mrkdwn(2_000)).max(10).optional(),
        }),
        z.strictObject({ type: z.literal("context"), elements: z.array(mrkdwn(2_000)).max(10) }),
      ]),
    )
    .max(50),
});

/** Limits of https://docs.discord.com/developers/resources/message#embed-object-embed-limits. */
const discordMessage = z
  .strictObject({
    content: z.string().min(1).max(2_000).optional(),
    embeds: z
      .array(
        z.strictObject({
          title: z.string().min(1).max(256),
          description: z.string().min(1).max(4_096),
          fields: z
            .array(
              z.strictObject({
                name: z.string().min(1).max(256),
                value: z.string().min(1).max(1_024),
                inline: z.boolean().optional(),
              }),
            )
            .max(25),
          footer: z.strictObject({ text: z.string().min(1).max(2_048) }),
        }),
      )
      .max(10)
      .optional(),
    allowed_mentions: z.strictObject({ parse: z.array(z.never()).max(0) }),
  })
  .refine(({ embeds = [] }) => embeds.every((embed) => textsOf(embed).join("").length <= 6_000));

/** All texts in a value, but for the types of blocks. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "type" ? [] : textsOf(member),
  );
}

const withTexts = (text: string, url = "https://sho.rt/a"): ReportContent => ({
  ...REPORT_CONTENT,
  name: text,
  tag: text,
  top_links: Array.from({ length: 5 }, () => ({
    link_id: "link_1",
    short_url: url,
    title: text,
    clicks: 1,
  })),
  referrers: Array.from({ length: 5 }, () => ({ referrer: text, clicks: 1 })),
});

const write = (chat: "slack" | "discord", report: ReportContent) =>
  writeMessage(chat, "report.ready", { report });

describe("a report", () => {
  test("is laid out for Slack with its numbers", () => {
    const message = slackMessage.parse(write("slack", REPORT_CONTENT));
    const texts = textsOf(message);
    expect(texts[0]).toBe("Monday numbers: February 23 – March 1, 2026");
    expect(texts).toContain("*Clicks*\n1,312 (+4.1 %, 1,260 before)");
    expect(texts).toContain("*Visitors*\n187 (none before)");
    expect(texts.join("\n")).toContain("<https://sho.rt/a|Spring sale>: 1,120");
    expect(texts.join("\n")).toContain("Germany: 200");
    expect(texts.join("\n")).toContain("Link expired: 4");
  });

  test("is laid out for Discord with its numbers", () => {
    const message = discordMessage.parse(write("discord", REPORT_CONTENT));
    const fields = message.embeds?.[0]?.fields ?? [];
    expect(fields.map(({ name }) => name)).toEqual([
      "Clicks",
      "Visitors",
      "Bots \\(not counted\\)",
      "Most successful links",
      "Countries",
      "Referrers",
      "Not redirected",
    ]);
    expect(fields[3]?.value).toStartWith("[Spring sale](https://sho.rt/a): 1,120\n");
  });

  test("is in its language", () => {
    const texts = textsOf(write("slack", { ...REPORT_CONTENT, language: "de" })).join("\n");
    expect(texts).toContain("23. Februar – 1. März 2026");
    expect(texts).toContain("1.312 (+4,1 %, vorher 1.260)");
    expect(texts).toContain("Deutschland: 200");
  });

  test("says nothing of lists without entries", () => {
    const empty = { top_links: [], countries: [], referrers: [], failures: null };
    const message = discordMessage.parse(write("discord", { ...REPORT_CONTENT, ...empty }));
    expect(message.embeds?.[0]?.fields.length).toBe(3);
  });
});

test("what people wrote mentions nobody in Slack, and begins no link", () => {
  for (const message of [
    write("slack", withTexts(HOSTILE)),
    writeMessage("slack", "link.created", { link: { title: HOSTILE } }),
  ])
    for (const text of textsOf(slackMessage.parse(message))) {
      // Only the links of this product are in brackets.
      const rest = text.replaceAll(/<https:\/\/sho\.rt\/a\|[^<>]*>/g, "");
      expect(rest).not.toMatch(/[<>]/);
      expect(rest.replaceAll(/&(?:amp|lt|gt);/g, "")).not.toContain("&");
    }
});

test("what people wrote is no Markdown in Discord, and mentions nobody", () => {
  for (const message of [
    write("discord", withTexts(HOSTILE)),
    writeMessage("discord", "link.created", { link: { title: HOSTILE } }),
  ]) {
    const { embeds, ...others } = discordMessage.parse(message);
    // Footers are not read as Markdown.
    const embedded = embeds?.map(({ title, description, fields }) => [title, description, fields]);
    const texts = textsOf([embedded, others]);
    for (const text of texts) {
      const rest = text
        .replaceAll(/\\./gs, "")
        .replaceAll(/\[[^[\]]*\]\(https:\/\/sho\.rt\/a\)/g, "");
      expect(rest).not.toMatch(/[*_~`|<>#@[\]()\\]/);
    }
  }
});

test("whatever texts contain, messages keep to the limits", () => {
  const character = fc.constantFrom("a", "&", "<", "@", "\\", "😀", "ß", ")", "|", " ");
  const text = fc
    .array(character, { minLength: 1, maxLength: 2_500, size: "max" })
    .map((all) => all.join(""));
  const url = text.map(
    (path) => `https://sho.rt/${encodeURIComponent(path).replaceAll("%20", ")|(")}`,
  );
  fc.assert(
    fc.property(text, url, (given, target) => {
      slackMessage.parse(write("slack", withTexts(given, target)));
      discordMessage.parse(write("discord", withTexts(given, target)));
      const data = { link: { title: given }, changes: { [given]: 1 } };
      slackMessage.parse(writeMessage("slack", "link.updated", data));
      discordMessage.parse(writeMessage("discord", "link.updated", data));
    }),
    { numRuns: casesOf(200) },
  );
});

test.each([
  [
    "link.created",
    { link: { title: "Sale", short_url: "https://sho.rt/a" } },
    "The link “Sale” was created.",
  ],
  [
    "link.deleted",
    { link: { title: null, short_url: "https://sho.rt/a" } },
    "The link “https://sho.rt/a” was deleted.",
  ],
  [
    "link.updated",
    { link: { title: "Sale" }, changes: { title: {}, tags: {} } },
    "The link “Sale” was changed: title, tags.",
  ],
  [
    "member.joined",
    { member: { name: "Ada", email: "ada@example.com" } },
    "The member “Ada” has joined the account.",
  ],
  ["clicks.recorded", { clicks: [{ link_id: "a" }, { link_id: "a" }] }, "2 clicks on 1 link."],
  ["webhook.test", { webhook: {} }, "This is a test of the webhook."],
  ["new.type", { new: { name: "x" } }, "Something happened: new.type."],
  ["new.created", { new: { name: "x" } }, "Something happened: new.created."],
  ["report.ready", { report: { of: "another version" } }, "Something happened: report.ready."],
])("%s is a sentence", (type, data, sentence) => {
  expect(writeMessage("slack", type, data)).toMatchObject({ text: sentence });
});
