/** The list of links, with search, filters, sorting and the page in the URL. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Plus, Upload } from "lucide-react";
import { Link as PageLink } from "wouter";

import { useCommands } from "../../data/commands.ts";
import type { SearchUpdate } from "../../data/scope.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Select } from "../../ui/field.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary, useDeferredData } from "../../ui/states.tsx";
import { type CursorPages, Pager, useCursorPages } from "../../ui/table.tsx";
import { ExportDialog } from "./lazy-dialogs.tsx";
import { fetchLinkPage, LinkList, type LinkPage } from "./link-list.tsx";
import { isFiltered, type ListQuery, PAGE_SIZES, readListQuery } from "./list-query.ts";
import { Toolbar } from "./toolbar.tsx";

export function LinksPage() {
  const { scope } = useAccountContext();
  const [params, setParams] = useSearchState();
  const query = readListQuery(params);
  const pages = useCursorPages();
  const links = useQuery({
    queryKey: ["links", scope, query, pages.after],
    queryFn: ({ signal }) => fetchLinkPage(scope, query, pages.after, signal),
    placeholderData: keepPreviousData,
  });
  /** Changes the list, which then starts from its first page. */
  const change = (update: SearchUpdate, options?: { replace: boolean }) =>
    setParams({ ...update, after: undefined }, options);
  // A long list yields to keys and clicks while it is rendered.
  const list = JSON.stringify([query, pages.after]);
  const { data, isOutdated } = useDeferredData(links, "links", list);
  const shown = data?.links ?? [];

  return (
    <Page title={t("shell.pages.links")} actions={<PageActions query={query} />}>
      <Card>
        <Toolbar
          query={query}
          shownTags={[...new Set(shown.flatMap(({ tags }) => tags))]}
          onChange={change}
        />
        <QueryBoundary
          query={{ ...links, data, isOutdated }}
          label={t("shell.pages.links")}
          lines={8}
        >
          {(page) => (
            <>
              {page.links.length === 0 ? (
                <NoLinks filtered={isFiltered(query) || pages.after !== ""} />
              ) : (
                <LinkList
                  id={list}
                  links={page.links}
                  fetchedAt={page.fetchedAt}
                  query={query}
                  hasMore={page.next !== null || pages.after !== ""}
                  refresh={async () => (await links.refetch()).data?.links ?? []}
                  onChange={change}
                />
              )}
              {(page.links.length > 0 || page.next !== null || pages.after !== "") && (
                <ListFoot
                  page={page}
                  pages={pages}
                  limit={query.limit}
                  onLimit={(limit) => change({ limit: `${limit}` })}
                />
              )}
            </>
          )}
        </QueryBoundary>
      </Card>
    </Page>
  );
}

function PageActions({ query }: { query: ListQuery }) {
  const canWrite = useCanWrite();
  const { createLink } = useCommands();
  return (
    <>
      <Button opens={(close) => <ExportDialog query={query} onClose={close} />}>
        <Download aria-hidden /> {t("links.list.export")}
      </Button>
      {canWrite && (
        <>
          <PageLink href="/links/import" className="button button-plain">
            <Upload aria-hidden /> {t("links.list.import")}
          </PageLink>
          <Button variant="primary" aria-keyshortcuts="c" onClick={() => createLink()}>
            <Plus aria-hidden /> {t("commands.newLink")}
          </Button>
        </>
      )}
    </>
  );
}

type ListFootProps = {
  page: LinkPage;
  pages: CursorPages;
  limit: ListQuery["limit"];
  onLimit: (limit: ListQuery["limit"]) => void;
};

const ListFoot = ({ page, pages, limit, onLimit }: ListFootProps) => (
  <footer className="card-foot">
    <span aria-live="polite">{describeLinks(page, pages.after)}</span>
    <div className="pager">
      <Select
        className="narrow"
        aria-label={t("links.list.perPage")}
        value={limit}
        options={PAGE_SIZES.map((size) => ({
          value: size,
          label: t("links.list.pageSize", { size }),
        }))}
        onChoose={onLimit}
      />
      <Pager pages={pages} next={page.next} />
    </div>
  </footer>
);

/** The total number of links if the page has them all, otherwise the number on the page. */
const describeLinks = ({ links, next }: LinkPage, after: string): string =>
  t(after === "" && next === null ? "ui.links" : "links.list.onPage", { count: links.length });

function NoLinks({ filtered }: { filtered: boolean }) {
  const canWrite = useCanWrite();
  const { createLink } = useCommands();
  return filtered ? (
    <Empty title={t("links.list.noMatch")}>
      <p>{t("links.list.noMatchHint")}</p>
    </Empty>
  ) : (
    <Empty title={t("links.list.empty")}>
      <p>{t("links.list.emptyHint")}</p>
      {canWrite && (
        <Button variant="primary" onClick={() => createLink()}>
          {t("links.list.createFirst")}
        </Button>
      )}
    </Empty>
  );
}
