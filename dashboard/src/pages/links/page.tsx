/** The list of links, with search, filters, sorting and the page in the URL. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Plus, Search, Upload, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link as PageLink } from "wouter";

import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { useCursorPages } from "../../ui/cursor-pages.ts";
import { pluralize } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { type SearchUpdate, useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { fetchLinkPage, type LinkPage, type ListQuery } from "./list.ts";
import { QrDialog } from "./qr-dialog.tsx";
import { LinkTable } from "./table.tsx";

/** The open dialog, with the link that it is about. */
type OpenDialog =
  { kind: "create" | "export" } | { kind: "edit" | "qr" | "delete"; link: ListedLink };

export function LinksPage() {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const [dialog, setDialog] = useState<OpenDialog>();
  const [params, setParams] = useSearchState();
  const query = readQuery(params);
  const pages = useCursorPages();
  const links = useQuery({
    queryKey: ["links", scope, query, pages.after],
    queryFn: ({ signal }) => fetchLinkPage(scope, query, pages.after, signal),
    placeholderData: keepPreviousData,
  });
  const close = () => setDialog(undefined);
  /** Changes the list, which then starts anew. */
  const change = (update: SearchUpdate) => setParams({ ...update, after: undefined });

  return (
    <Page
      title="Links"
      actions={
        <>
          <Button onClick={() => setDialog({ kind: "export" })}>
            <Download aria-hidden /> Export
          </Button>
          {canWrite && (
            <>
              <PageLink href="/links/import" className="button button-plain">
                <Upload aria-hidden /> Import
              </PageLink>
              <Button variant="primary" onClick={() => setDialog({ kind: "create" })}>
                <Plus aria-hidden /> New link
              </Button>
            </>
          )}
        </>
      }
    >
      <Card>
        <div className="toolbar">
          <SearchForm
            key={query.search ?? ""}
            search={query.search ?? ""}
            onSearch={(search) => change({ search })}
          />
          <select
            className="narrow"
            aria-label="Show"
            value={query.archived ?? ""}
            onChange={(event) => change({ archived: event.target.value })}
          >
            <option value="">Without archived</option>
            <option value="true">Only archived</option>
            <option value="any">All links</option>
          </select>
          {(["tag", "domain"] as const).map(
            (name) =>
              query[name] !== undefined && (
                <span key={name} className="tag">
                  {query[name]}
                  <IconButton
                    label={`Clear ${name} filter`}
                    onClick={() => change({ [name]: undefined })}
                  >
                    <X aria-hidden />
                  </IconButton>
                </span>
              ),
          )}
        </div>
        <QueryBoundary query={links} label="links" lines={8}>
          {(page) => (
            <div aria-busy={links.isPlaceholderData}>
              {page.links.length === 0 ? (
                <NoLinks
                  filtered={isFiltered(query) || pages.after !== ""}
                  {...(canWrite ? { onCreate: () => setDialog({ kind: "create" }) } : {})}
                />
              ) : (
                <LinkTable
                  links={page.links}
                  sort={query.sort}
                  order={query.order}
                  onSort={(sort, order) => change({ sort, order })}
                  onTag={(tag) => change({ tag })}
                  onAction={(kind, link) => setDialog({ kind, link })}
                />
              )}
              {(page.links.length > 0 || page.next !== null || pages.after !== "") && (
                <footer className="card-foot">
                  <span>{describeLinks(page, pages.after)}</span>
                  <Pager pages={pages} next={page.next} />
                </footer>
              )}
            </div>
          )}
        </QueryBoundary>
      </Card>
      {dialog?.kind === "create" && <EditDialog onClose={close} />}
      {dialog?.kind === "edit" && <EditDialog link={dialog.link} onClose={close} />}
      {dialog?.kind === "qr" && <QrDialog link={dialog.link} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteDialog link={dialog.link} onClose={close} />}
      {dialog?.kind === "export" && <ExportDialog onClose={close} />}
    </Page>
  );
}

/** Reads a valid query from the URL; replaces invalid values by defaults. */
function readQuery(params: URLSearchParams): ListQuery {
  const text = (name: string, lengthMax: number) => {
    const value = params.get(name) ?? "";
    return value === "" ? {} : { [name]: value.slice(0, lengthMax) };
  };
  const archived = params.get("archived");
  return {
    sort: params.get("sort") === "clicks" ? "clicks" : "created_at",
    order: params.get("order") === "asc" ? "asc" : "desc",
    ...(archived === "true" || archived === "any" ? { archived } : {}),
    ...text("search", 255),
    ...text("tag", 50),
    ...text("domain", 253),
  };
}

const isFiltered = ({ search, tag, domain, archived }: ListQuery): boolean =>
  [search, tag, domain, archived].some((value) => value !== undefined);

/** The number of all links when the page has them all, otherwise of those on the page. */
const describeLinks = ({ links, next }: LinkPage, after: string): string =>
  pluralize(links.length, "link") + (after === "" && next === null ? "" : " on this page");

function SearchForm({ search, onSearch }: { search: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(search);
  function submit(event: FormEvent): void {
    event.preventDefault();
    onSearch(text.trim());
  }
  return (
    <form role="search" className="search" onSubmit={submit}>
      <Search aria-hidden />
      <input
        type="search"
        aria-label="Search links"
        placeholder="Search by title, alias or URL"
        maxLength={255}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          // The input's clear button resets the search.
          if (event.target.value === "" && search !== "") onSearch("");
        }}
      />
    </form>
  );
}

const NoLinks = ({ filtered, onCreate }: { filtered: boolean; onCreate?: () => void }) =>
  filtered ? (
    <Empty title="No matching links">
      <p>Try a different search.</p>
    </Empty>
  ) : (
    <Empty title="No links yet">
      <p>A short link works as soon as you create it, and counts every click.</p>
      {onCreate !== undefined && (
        <Button variant="primary" onClick={onCreate}>
          Create your first link
        </Button>
      )}
    </Empty>
  );
