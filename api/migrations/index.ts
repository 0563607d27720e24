/**
 * The schema of PostgreSQL as a list of migrations. Migrations are only added: an applied one never
 * changes.
 */
import type { Migration } from "../../shared/migrations.ts";
import accounts from "./0001_accounts.sql" with { type: "text" };
import authorize from "./0002_authorize.sql" with { type: "text" };
import links from "./0003_links.sql" with { type: "text" };
import linksComplete from "./0004_links_complete.sql" with { type: "text" };
import linksSearch from "./0005_links_search.sql" with { type: "text" };
import members from "./0006_members.sql" with { type: "text" };
import quotas from "./0007_quotas.sql" with { type: "text" };
import activeKeys from "./0008_active_keys.sql" with { type: "text" };
import externalIds from "./0010_external_ids.sql" with { type: "text" };
import linkLookups from "./0011_link_lookups.sql" with { type: "text" };
import linkExtras from "./0012_link_extras.sql" with { type: "text" };
import takedowns from "./0014_takedowns_and_domain_settings.sql" with { type: "text" };
import archivedAndFolded from "./0015_archived_and_folded.sql" with { type: "text" };
import shares from "./0016_shares.sql" with { type: "text" };
import linkFeed from "./0018_link_feed.sql" with { type: "text" };
import fillLinks from "./0019_fill_links.sql" with { type: "text" };
import addressesOfUsers from "./0020_addresses_of_users.sql" with { type: "text" };
import linkFeedStreams from "./0021_link_feed_streams.sql" with { type: "text" };
import tags from "./0022_tags.sql" with { type: "text" };
import countTags from "./0023_count_tags.sql" with { type: "text" };
import tagsCounted from "./0024_tags_counted.sql" with { type: "text" };
import accountBranding from "./0025_account_branding.sql" with { type: "text" };
import qrStyle from "./0026_qr_style.sql" with { type: "text" };
import savedViews from "./0027_saved_views.sql" with { type: "text" };
import lastClicks from "./0028_last_clicks.sql" with { type: "text" };
import events from "./0029_events.sql" with { type: "text" };
import webhooks from "./0030_webhooks.sql" with { type: "text" };
import linksByExpiryTime from "./0031_links_by_expiry_time.sql" with { type: "text" };
import backups from "./0032_backups.sql" with { type: "text" };
import slowWebhooks from "./0033_slow_webhooks.sql" with { type: "text" };
import reports from "./0034_reports.sql" with { type: "text" };
import mailsAboutWebhooks from "./0035_mails_about_webhooks.sql" with { type: "text" };
import disabledWebhooks from "./0036_disabled_webhooks.sql" with { type: "text" };
import oneUserPerAddress from "./0037_one_user_per_address.sql" with { type: "text" };
import mailsAboutWebhooksByUser from "./0038_mails_about_webhooks_by_user.sql" with { type: "text" };
import ledgerCost from "./0042_ledger_cost.sql" with { type: "text" };
import clickEventDays from "./0043_click_event_days.sql" with { type: "text" };
import accountPlan from "./0058_account_plan.sql" with { type: "text" };
import noSpentEndpoints from "./0064_no_spent_endpoints.sql" with { type: "text" };
import replacedKeys from "./0065_replaced_keys.sql" with { type: "text" };
import reportTimezone from "./0066_report_timezone.sql" with { type: "text" };
import passwordResets from "./0067_password_resets.sql" with { type: "text" };
import linkNotes from "./0075_link_notes.sql" with { type: "text" };
import notesSearch from "./0076_notes_search.sql" with { type: "text" };
import linkLog from "./0077_link_log.sql" with { type: "text" };
import linksByCampaign from "./0079_links_by_campaign.sql" with { type: "text" };

/**
 * A migration whose statements run one by one, because PostgreSQL rejects them in a transaction.
 */
export type PostgresMigration = Migration & { concurrent?: true };

export const migrations: readonly PostgresMigration[] = [
  { id: 1, name: "accounts", text: accounts },
  { id: 2, name: "authorize", text: authorize },
  { id: 3, name: "links", text: links },
  { id: 4, name: "links_complete", text: linksComplete },
  { id: 5, name: "links_search", text: linksSearch, concurrent: true },
  {
    id: 6,
    name: "members",
    text: members,
    formerChecksums: ["9c9c56fdec52809c5769f52b0c8dce3949b4ef39bf2b4e0f39d65c4773cefd6e"],
  },
  { id: 7, name: "quotas", text: quotas },
  { id: 8, name: "active_keys", text: activeKeys, concurrent: true },
  { id: 10, name: "external_ids", text: externalIds },
  { id: 11, name: "link_lookups", text: linkLookups, concurrent: true },
  { id: 12, name: "link_extras", text: linkExtras },
  { id: 14, name: "takedowns_and_domain_settings", text: takedowns },
  { id: 15, name: "archived_and_folded", text: archivedAndFolded, concurrent: true },
  { id: 16, name: "shares", text: shares },
  { id: 18, name: "link_feed", text: linkFeed },
  { id: 19, name: "fill_links", text: fillLinks },
  { id: 20, name: "addresses_of_users", text: addressesOfUsers },
  { id: 21, name: "link_feed_streams", text: linkFeedStreams },
  { id: 22, name: "tags", text: tags },
  { id: 23, name: "count_tags", text: countTags, concurrent: true },
  { id: 24, name: "tags_counted", text: tagsCounted },
  { id: 25, name: "account_branding", text: accountBranding },
  { id: 26, name: "qr_style", text: qrStyle },
  { id: 27, name: "saved_views", text: savedViews },
  { id: 28, name: "last_clicks", text: lastClicks, concurrent: true },
  { id: 29, name: "events", text: events },
  { id: 30, name: "webhooks", text: webhooks },
  { id: 31, name: "links_by_expiry_time", text: linksByExpiryTime, concurrent: true },
  { id: 32, name: "backups", text: backups },
  { id: 33, name: "slow_webhooks", text: slowWebhooks },
  { id: 34, name: "reports", text: reports },
  { id: 35, name: "mails_about_webhooks", text: mailsAboutWebhooks },
  { id: 36, name: "disabled_webhooks", text: disabledWebhooks, concurrent: true },
  { id: 37, name: "one_user_per_address", text: oneUserPerAddress },
  { id: 38, name: "mails_about_webhooks_by_user", text: mailsAboutWebhooksByUser },
  { id: 42, name: "ledger_cost", text: ledgerCost },
  { id: 43, name: "click_event_days", text: clickEventDays },
  { id: 58, name: "account_plan", text: accountPlan },
  { id: 64, name: "no_spent_endpoints", text: noSpentEndpoints },
  { id: 65, name: "replaced_keys", text: replacedKeys },
  { id: 66, name: "report_timezone", text: reportTimezone },
  { id: 67, name: "password_resets", text: passwordResets },
  { id: 75, name: "link_notes", text: linkNotes },
  { id: 76, name: "notes_search", text: notesSearch, concurrent: true },
  { id: 77, name: "link_log", text: linkLog },
  { id: 79, name: "links_by_campaign", text: linksByCampaign, concurrent: true },
];
