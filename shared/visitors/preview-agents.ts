/**
 * Agents that fetch a link to show a card of it, in a chat or a feed. An agent is listed if its
 * operator documents, on the page in the comment, that it does only this; some have that page in
 * their user agents. Crawlers of search engines are not listed: they must see a link's destination.
 */

/**
 * Product names, never parts of a browser's user agent: the browser inside WhatsApp's app ends with
 * `WhatsApp/…`, with which the agent's begins.
 */
const PREVIEW_AGENTS: readonly RegExp[] = [
  // Facebook, Instagram, Messenger and Threads; agents of iMessage, LINE and KakaoTalk name it
  // beside their own. https://developers.facebook.com/docs/sharing/webmasters/web-crawlers
  /\bfacebookexternalhit\//,
  // Also Signal's.
  // https://developers.facebook.com/documentation/business-messaging/whatsapp/link-previews/
  /^WhatsApp\//,
  // X. https://developer.x.com/en/docs/x-for-websites/cards/guides/getting-started
  /\bTwitterbot\//,
  // http://www.linkedin.com
  /^LinkedInBot\//,
  // https://api.slack.com/robots; other programs of Slack's are called Slackbot alone.
  /^Slackbot-LinkExpanding\b/,
  // https://discordapp.com
  /\bDiscordbot\//,
  // https://telegram.org/blog/link-preview
  /^TelegramBot\b/,
  // Skype and Teams: skype-url-preview@microsoft.com, https://aka.ms/MicrosoftPreview
  /\bSkypeUriPreview\b/,
  /\bMicrosoftPreview\//,
  // http://www.reddit.com/feedback
  /\bredditbot\//,
  // https://developers.snap.com/robots
  /\bSnap URL Preview Service\b/,
  // support@bsky.app
  /\bBluesky Cardyb\//,
  // https://github.com/mastodon/mastodon/blob/main/app/services/fetch_link_card_service.rb
  /\bMastodon\//,
  // Matrix. https://github.com/matrix-org/synapse/pull/11985
  /^Synapse \(bot;/,
  // https://github.com/mattermost/mattermost/pull/17186
  /^Mattermost-Bot\//,
  // http://vk.com/dev/Share
  /\bvkShare\b/,
  // https://help.pinterest.com/en/business/article/pinterest-crawler
  /\bPinterestbot\/|^Pinterest\/[\d.]+ \(\+http/,
  // Google Messages; Google Chat asks as the fetcher of snippets.
  // https://developers.google.com/crawling/docs/crawlers-fetchers/google-user-triggered-fetchers
  /\bGoogleMessages\b/,
  /\bGoogle \(\+https:\/\/developers\.google\.com\/\+\/web\/snippet\//,
  // https://github.com/zulip/zulip/blob/main/zerver/lib/url_preview/preview.py
  /\bZulipURLPreview\//,
  // https://github.com/LemmyNet/lemmy/blob/main/crates/api_common/src/request.rs
  /^Lemmy\//,
  // Misskey. https://github.com/misskey-dev/summaly
  /^(?:SummalyBot|Misskey)\//i,
  // https://developers.viber.com
  /^ViberUrlDownloader\b/,
  // Notion, also with Iframely.
  /^NotionEmbedder\b|^Notion\/[\d.]+ \(https?:/,
  // Cards for many sites. https://iframely.com/docs/about, http://support.embed.ly/
  /\bIframely\//,
  /\bEmbedly\//,
];

/** Returns the name of a link-preview agent, as its user agent has it; undefined for others. */
export function findPreviewAgent(userAgent: string): string | undefined {
  for (const pattern of PREVIEW_AGENTS) {
    const name = pattern.exec(userAgent)?.[0];
    if (name !== undefined) return name;
  }
  return undefined;
}

/** Whether a user agent is that of a link-preview agent. */
export const isPreviewAgent = (userAgent: string): boolean =>
  findPreviewAgent(userAgent) !== undefined;
