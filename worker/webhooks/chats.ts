/**
 * Messages for chats: a sentence or a report, for the incoming webhooks of Slack
 * (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks) and Discord
 * (https://docs.discord.com/developers/resources/webhook). Texts of accounts are escaped, as
 * https://docs.slack.dev/messaging/formatting-message-text describes and against Markdown, so that
 * none mentions anybody; and cut to what the receiver accepts.
 */
import {
  describeReport,
  type MessageRow,
  type ReportContent,
} from "../../shared/reports/content.ts";

// ---- Slack

/** Maximum characters of a header, and of a section. */
const HEADER_LENGTH_MAX = 150;
const SECTION_LENGTH_MAX = 3_000;

/** Longest name, number or note, and longest URL that a name links to: a few fit into a section. */
const SLACK_NAME_LENGTH_MAX = 200;
const SLACK_URL_LENGTH_MAX = 500;

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const escapeSlack = (text: string, lengthMax: number): string =>
  escapeWithin(text, lengthMax, (character) => ESCAPES[character] ?? character);

/** Text with the markup of Slack; `verbatim`: Slack looks for no names and addresses in it. */
const markup = (text: string) => ({ type: "mrkdwn", text, verbatim: true });

const section = (text: string) => ({ type: "section", text: markup(text) });

/** A message of one sentence. */
export const slackSentence = (sentence: string): object => {
  const text = escapeSlack(sentence, SECTION_LENGTH_MAX);
  return { text, blocks: [section(text)] };
};

/** A report. `text` is what notifications show. */
export function slackReport(content: ReportContent): object {
  const { title, subject, totals, lists, note } = describeReport(content);
  const header = escapeSlack(title, HEADER_LENGTH_MAX);
  return {
    text: header,
    blocks: [
      { type: "header", text: { type: "plain_text", text: header, emoji: false } },
      {
        ...section(escapeSlack(subject, SECTION_LENGTH_MAX)),
        fields: totals.map(({ label, text }) =>
          markup(
            `*${escapeSlack(label, SLACK_NAME_LENGTH_MAX)}*\n${escapeSlack(text, SLACK_NAME_LENGTH_MAX)}`,
          ),
        ),
      },
      ...lists.map(({ title: heading, rows }) =>
        section(
          joinWithin(
            [`*${escapeSlack(heading, SLACK_NAME_LENGTH_MAX)}*`, ...rows.map(toSlackLine)],
            SECTION_LENGTH_MAX,
          ),
        ),
      ),
      { type: "context", elements: [markup(escapeSlack(note, SLACK_NAME_LENGTH_MAX))] },
    ],
  };
}

function toSlackLine({ name, url, number }: MessageRow): string {
  const text = escapeSlack(name, SLACK_NAME_LENGTH_MAX);
  const target = (url ?? "").replaceAll("|", "%7C");
  const isLink = target !== "" && target.length <= SLACK_URL_LENGTH_MAX;
  const shown = isLink ? `<${escapeSlack(target, SECTION_LENGTH_MAX)}|${text}>` : text;
  return `${shown}: ${escapeSlack(number, SLACK_NAME_LENGTH_MAX)}`;
}

// ---- Discord

/** Maximum characters of a message, and of the parts of an embed; all parts have 6,000 together. */
const CONTENT_LENGTH_MAX = 2_000;
const TITLE_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 500;
const FIELD_NAME_LENGTH_MAX = 100;
const FIELD_LENGTH_MAX = 900;
const FOOTER_LENGTH_MAX = 300;

/** Longest name in a list, and longest URL that it links to. */
const DISCORD_NAME_LENGTH_MAX = 100;
const DISCORD_URL_LENGTH_MAX = 300;

/** Characters of Markdown, of mentions, and of addresses that become links. */
const SPECIAL = /[\\*_~`|<>#@[\]():.-]/;

const escapeDiscord = (text: string, lengthMax: number): string =>
  escapeWithin(text, lengthMax, (character) =>
    SPECIAL.test(character) ? `\\${character}` : character,
  );

/** Nobody is notified, whatever a text contains. */
const NO_MENTIONS = { allowed_mentions: { parse: [] } };

/** A message of one sentence. */
export const discordSentence = (sentence: string): object => ({
  content: escapeDiscord(sentence, CONTENT_LENGTH_MAX),
  ...NO_MENTIONS,
});

/** A report as an embed. */
export function discordReport(content: ReportContent): object {
  const { title, subject, totals, lists, note } = describeReport(content);
  return {
    embeds: [
      {
        title: escapeDiscord(title, TITLE_LENGTH_MAX),
        description: escapeDiscord(subject, DESCRIPTION_LENGTH_MAX),
        fields: [
          ...totals.map(({ label, text }) => ({
            ...field(label, [escapeDiscord(text, DISCORD_NAME_LENGTH_MAX)]),
            inline: true,
          })),
          ...lists.map(({ title: heading, rows }) => field(heading, rows.map(toDiscordLine))),
        ],
        // Not read as Markdown.
        footer: { text: escapeWithin(note, FOOTER_LENGTH_MAX, (character) => character) },
      },
    ],
    ...NO_MENTIONS,
  };
}

const field = (name: string, lines: readonly string[]) => ({
  name: escapeDiscord(name, FIELD_NAME_LENGTH_MAX),
  value: joinWithin(lines, FIELD_LENGTH_MAX),
});

function toDiscordLine({ name, url, number }: MessageRow): string {
  const text = escapeDiscord(name, DISCORD_NAME_LENGTH_MAX);
  const target = encodeParentheses(url ?? "");
  const isLink = target !== "" && target.length <= DISCORD_URL_LENGTH_MAX;
  const shown = isLink ? `[${text}](${target})` : text;
  return `${shown}: ${escapeDiscord(number, DISCORD_NAME_LENGTH_MAX)}`;
}

/** The URL is our own; a parenthesis in an alias would end the link. */
const encodeParentheses = (url: string): string =>
  url.replaceAll("(", "%28").replaceAll(")", "%29");

// ---- Texts within bounds

const ELLIPSIS = "…";

/**
 * Escapes a text, character by character, and ends it with an ellipsis where the result would be
 * longer than `lengthMax`: no escape is cut in half.
 */
function escapeWithin(
  text: string,
  lengthMax: number,
  escape: (character: string) => string,
): string {
  let escaped = "";
  /** Up to where an ellipsis still has room. */
  let cut = "";
  for (const character of text) {
    escaped += escape(character);
    if (escaped.length > lengthMax) return cut + ELLIPSIS;
    if (escaped.length < lengthMax) cut = escaped;
  }
  return escaped;
}

/** Joins lines as long as there is room for them. */
function joinWithin(lines: readonly string[], lengthMax: number): string {
  let text = "";
  for (const line of lines) {
    const next = text === "" ? line : `${text}\n${line}`;
    if (next.length > lengthMax) break;
    text = next;
  }
  return text;
}
