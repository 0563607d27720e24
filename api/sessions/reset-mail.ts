/** The mail with a link to set a new password. It has no text that anybody could choose. */
import { RESET_MINUTES } from "../../shared/contracts/users.ts";
import { inEachLanguage } from "../../shared/languages/catalogues.ts";
import { createTexts } from "../../shared/languages/messages.ts";
import { escapeHtml } from "../http/html.ts";
import type { MailKind } from "../mail/kind.ts";
import { type MailContent, writeLink } from "../mail/message.ts";
import type { Sql } from "../postgres.ts";
import { isExpected } from "./resets-sql.ts";
import { makeReset, resetPath } from "./resets.ts";

/** Each attempt to send makes a link of its own. `dashboardUrl` is where it leads. */
export const resetMails = (sql: Sql, dashboardUrl: string | undefined): MailKind => ({
  mayReceive: isExpected,
  async write({ user_id: userId, language }) {
    if (dashboardUrl === undefined) return undefined;
    const { token } = await makeReset(sql, userId);
    return composeReset(language ?? "", `${dashboardUrl}${resetPath(token)}`);
  },
});

const textsIn = inEachLanguage((language, { passwords }) => ({
  language,
  texts: createTexts(language, passwords),
}));

function composeReset(code: string, url: string): MailContent {
  const { language, texts } = textsIn(code);
  const [asked, link, otherwise] = [
    texts.asked(),
    texts.link({ minutes: RESET_MINUTES }),
    texts.otherwise(),
  ];
  return {
    language,
    title: texts.title(),
    text: `${asked}\n\n${link}\n${url}\n\n${otherwise}`,
    html: [
      escapeHtml(asked),
      `${escapeHtml(link)} ${writeLink(texts.open(), url)}`,
      escapeHtml(otherwise),
    ]
      .map((paragraph) => `<p>${paragraph}</p>`)
      .join("\n"),
  };
}
