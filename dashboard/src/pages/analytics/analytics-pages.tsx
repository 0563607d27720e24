/**
 * The pages of analytics: of one link, of all together, and of those with a tag or on a domain.
 */
import { ArrowLeft, ExternalLink, Pencil, QrCode, Split } from "lucide-react";
import { useMemo } from "react";
import { Link as PageLink } from "wouter";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { UTM_NAMES } from "../../../../shared/contracts/analytics.ts";
import { readableUrl, withReadableHost } from "../../../../shared/contracts/host-names.ts";
import { describeValue } from "../../../../shared/statistics/values.ts";
import { useTagClass } from "../../data/account-lists.ts";
import { toSearch } from "../../data/scope.ts";
import { useApiQuery, useCanWrite } from "../../data/session.ts";
import { isNotFound } from "../../languages/errors.ts";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { Button, CopyButton } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { useLastSegment } from "../../ui/search-state.ts";
import { Empty, ErrorState } from "../../ui/states.tsx";
import { EditDialog, type LinkDialog, QrDialog } from "../links/lazy-dialogs.tsx";
import { StateBadges, StateMeanings } from "../links/state.tsx";
import { AnalyticsCards } from "./analytics-cards.tsx";
import { only } from "./analytics-path.ts";
import { useReadAnalyticsQuery } from "./analytics-query.ts";
import { TopLinks } from "./breakdown-cards.tsx";
import { LiveClicks } from "./live-page.tsx";
import { ShareButton } from "./share-button.tsx";

export function LinkAnalyticsPage({ id }: { id: string }) {
  const analyticsQuery = useReadAnalyticsQuery(id);
  const liveClicks = useMemo(() => <LiveClicks link={id} />, [id]);
  const link = useApiQuery(["link", id], (client, signal) =>
    client.links.get(id, { include: "settings", signal }),
  );
  if (isNotFound(link.error)) {
    return (
      <Empty title={t("analytics.linkNotFound")}>
        <p>
          <PageLink href="/links">{t("analytics.backToLinks")}</PageLink>
        </p>
      </Empty>
    );
  }
  if (link.data === undefined && link.error !== null) {
    return <ErrorState error={link.error} onRetry={() => void link.refetch()} />;
  }
  // The clicks need not wait for what is said of the link.
  const { data } = link;
  return (
    <Page
      title={data === undefined ? t("fields.link") : (data.title ?? readableUrl(data.short_url))}
      intro={
        data === undefined ? (
          t("ui.loading", { what: t("links.theLink") })
        ) : (
          <LinkIntro link={data} />
        )
      }
      actions={data !== undefined && <LinkActions link={data} />}
    >
      {data !== undefined && <StateMeanings link={data} />}
      <AnalyticsCards analyticsQuery={analyticsQuery}>{liveClicks}</AnalyticsCards>
    </Page>
  );
}

const LinkIntro = ({ link }: { link: FullLink }) => (
  <>
    <span className="link-line">
      <a href={link.short_url} target="_blank" rel="noreferrer">
        {`${new URL(link.short_url).protocol}//${readableUrl(link.short_url)}`}{" "}
        <ExternalLink aria-hidden />
      </a>
      <CopyButton text={link.short_url} label={t("analytics.copyUrl")} />
      <span className="destination" title={link.original_url}>
        {withReadableHost(link.original_url)}
      </span>
    </span>
    {link.tags.length > 0 && <LinkTags tags={link.tags} />}
    <UtmParameters link={link} />
    {link.notes !== null && <span className="notes">{link.notes}</span>}
  </>
);

/** What the link adds to its destination, which its URL alone does not show. */
function UtmParameters({ link }: { link: FullLink }) {
  const set = UTM_NAMES.filter((name) => (link[name] ?? "") !== "");
  if (set.length === 0) return null;
  return <span className="notes">{set.map((name) => `${name}=${link[name]}`).join(" · ")}</span>;
}

function LinkTags({ tags }: { tags: readonly string[] }) {
  const tagClass = useTagClass();
  return (
    <span className="tags">
      {tags.map((tag) => (
        <PageLink key={tag} href={`/links?${toSearch({ tag })}`} className={tagClass(tag)}>
          {tag}
        </PageLink>
      ))}
    </span>
  );
}

function LinkActions({ link }: { link: FullLink }) {
  const canWrite = useCanWrite();
  const opens = (Dialog: LinkDialog) => (close: () => void) => (
    <Dialog link={link} onClose={close} />
  );
  return (
    <>
      <PageLink href="/links" className="button button-plain">
        <ArrowLeft aria-hidden /> {t("shell.pages.links")}
      </PageLink>
      <StateBadges link={link} />
      {canWrite && (
        <Button opens={opens(EditDialog)}>
          <Pencil aria-hidden /> {t("links.actions.edit")}
        </Button>
      )}
      <Button opens={opens(QrDialog)}>
        <QrCode aria-hidden /> {t("links.qr.title")}
      </Button>
      <ShareButton link={link.id} />
      <PageLink href={`/links/${link.id}/rules`} className="button button-plain">
        <Split aria-hidden /> {t("fields.rules")}
      </PageLink>
    </>
  );
}

const TOP_LINKS = <TopLinks />;

export function AccountAnalyticsPage() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <Page
      title={t("shell.pages.analytics")}
      intro={t("analytics.allLinks")}
      actions={<ShareButton link={null} />}
    >
      <AnalyticsCards analyticsQuery={analyticsQuery}>{TOP_LINKS}</AnalyticsCards>
    </Page>
  );
}

/**
 * The analytics of the links that currently have a tag, or are on a domain; the URL's path ends
 * with its name.
 */
export function PropertyAnalyticsPage({ name }: { name: "tag" | "domain" }) {
  const value = useLastSegment();
  const analyticsQuery = useReadAnalyticsQuery(undefined, only(name, value));
  const list = `/links?${new URLSearchParams({ [name]: value }).toString()}`;
  return (
    <Page
      title={describeValue(name, value, statisticsLanguage())}
      intro={name === "tag" ? t("analytics.ofTag") : t("analytics.ofDomain")}
      actions={
        <PageLink href={list} className="button button-plain">
          {t("analytics.showLinks")}
        </PageLink>
      }
    >
      {/* The key resets the cards' state when another tag or domain is opened. */}
      <AnalyticsCards key={value} analyticsQuery={analyticsQuery}>
        {TOP_LINKS}
      </AnalyticsCards>
    </Page>
  );
}
