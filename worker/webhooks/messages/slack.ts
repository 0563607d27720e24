/**
 * Messages for incoming webhooks of Slack
 * (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). Texts of accounts
 * are escaped as https://docs.slack.dev/messaging/formatting-message-text describes, so that none
 * mentions anybody.
 */
import {
  describeReport,
  type MessageRow,
  type ReportContent,
} from "../../../shared/reports/content.ts";
import { escapeWithin, joinWithin } from "./bounded-text.ts";

/** Most characters of a header, and of a section. */
const HEADER_LENGTH_MAX = 150;
const SECTION_LENGTH_MAX = 3_000;

/** Longest name, number or note, and longest URL that a name links to: a few fit into a section. */
const NAME_LENGTH_MAX = 200;
const URL_LENGTH_MAX = 500;

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const escape = (text: string, lengthMax: number): string =>
  escapeWithin(text, lengthMax, (character) => ESCAPES[character] ?? character);

/** Text with the markup of this file; `verbatim`: Slack looks for no names and addresses in it. */
const markup = (text: string) => ({ type: "mrkdwn", text, verbatim: true });

const section = (text: string) => ({ type: "section", text: markup(text) });

/** A message of one sentence. */
export const slackSentence = (sentence: string): object => {
  const text = escape(sentence, SECTION_LENGTH_MAX);
  return { text, blocks: [section(text)] };
};

/** A report. `text` is what notifications show. */
export function slackReport(content: ReportContent): object {
  const { title, subject, totals, lists, note } = describeReport(content);
  const header = escape(title, HEADER_LENGTH_MAX);
  return {
    text: header,
    blocks: [
      { type: "header", text: { type: "plain_text", text: header, emoji: false } },
      {
        ...section(escape(subject, SECTION_LENGTH_MAX)),
        fields: totals.map(({ label, text }) =>
          markup(`*${escape(label, NAME_LENGTH_MAX)}*\n${escape(text, NAME_LENGTH_MAX)}`),
        ),
      },
      ...lists.map(({ title: heading, rows }) =>
        section(
          joinWithin(
            [`*${escape(heading, NAME_LENGTH_MAX)}*`, ...rows.map(toLine)],
            SECTION_LENGTH_MAX,
          ),
        ),
      ),
      { type: "context", elements: [markup(escape(note, NAME_LENGTH_MAX))] },
    ],
  };
}

function toLine({ name, url, number }: MessageRow): string {
  const text = escape(name, NAME_LENGTH_MAX);
  const target = (url ?? "").replaceAll("|", "%7C");
  const isLink = target !== "" && target.length <= URL_LENGTH_MAX;
  const shown = isLink ? `<${escape(target, SECTION_LENGTH_MAX)}|${text}>` : text;
  return `${shown}: ${escape(number, NAME_LENGTH_MAX)}`;
}
