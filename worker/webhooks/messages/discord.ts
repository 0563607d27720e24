/**
 * Messages for webhooks of Discord (https://docs.discord.com/developers/resources/webhook). No
 * message mentions anybody, and texts of accounts are not read as Markdown.
 */
import {
  describeReport,
  type MessageRow,
  type ReportContent,
} from "../../../shared/reports/content.ts";
import { escapeWithin, joinWithin } from "./bounded-text.ts";

/** Most characters of a message, and of the parts of an embed; all parts have 6,000 together. */
const CONTENT_LENGTH_MAX = 2_000;
const TITLE_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 500;
const FIELD_NAME_LENGTH_MAX = 100;
const FIELD_LENGTH_MAX = 900;
const FOOTER_LENGTH_MAX = 300;

/** Longest name in a list, and longest URL that it links to. */
const NAME_LENGTH_MAX = 100;
const URL_LENGTH_MAX = 300;

/** Characters of Markdown, of mentions, and of addresses that become links. */
const SPECIAL = /[\\*_~`|<>#@[\]():.-]/;

const escape = (text: string, lengthMax: number): string =>
  escapeWithin(text, lengthMax, (character) =>
    SPECIAL.test(character) ? `\\${character}` : character,
  );

/** Nobody is notified, whatever a text contains. */
const NO_MENTIONS = { allowed_mentions: { parse: [] } };

/** A message of one sentence. */
export const discordSentence = (sentence: string): object => ({
  content: escape(sentence, CONTENT_LENGTH_MAX),
  ...NO_MENTIONS,
});

/** A report as an embed. */
export function discordReport(content: ReportContent): object {
  const { title, subject, totals, lists, note } = describeReport(content);
  return {
    embeds: [
      {
        title: escape(title, TITLE_LENGTH_MAX),
        description: escape(subject, DESCRIPTION_LENGTH_MAX),
        fields: [
          ...totals.map(({ label, text }) => ({
            ...field(label, [escape(text, NAME_LENGTH_MAX)]),
            inline: true,
          })),
          ...lists.map(({ title: heading, rows }) => field(heading, rows.map(toLine))),
        ],
        // Not read as Markdown.
        footer: { text: escapeWithin(note, FOOTER_LENGTH_MAX, (character) => character) },
      },
    ],
    ...NO_MENTIONS,
  };
}

const field = (name: string, lines: readonly string[]) => ({
  name: escape(name, FIELD_NAME_LENGTH_MAX),
  value: joinWithin(lines, FIELD_LENGTH_MAX),
});

function toLine({ name, url, number }: MessageRow): string {
  const text = escape(name, NAME_LENGTH_MAX);
  const target = encodeParentheses(url ?? "");
  const isLink = target !== "" && target.length <= URL_LENGTH_MAX;
  const shown = isLink ? `[${text}](${target})` : text;
  return `${shown}: ${escape(number, NAME_LENGTH_MAX)}`;
}

/** The URL is our own; a parenthesis in an alias would end the link. */
const encodeParentheses = (url: string): string =>
  url.replaceAll("(", "%28").replaceAll(")", "%29");
