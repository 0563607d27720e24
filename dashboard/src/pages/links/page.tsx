/** The list of links, with search, sorting and pagination in the URL. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Plus, Search, Upload, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Link, Query } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { pluralize } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { QrDialog } from "./qr-dialog.tsx";
import { LinkTable } from "./table.tsx";

const PAGE_SIZE = 20;

/** The open dialog, with the link that it is about. */
type OpenDialog = { kind: "create" | "export" } | { kind: "edit" | "qr" | "delete"; link: Link };

export function LinksPage() {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const [dialog, setDialog] = useState<OpenDialog>();
  const [params, setParams] = useSearchState();
  const query = readQuery(params);
  const links = useQuery({
    queryKey: ["links", scope, query],
    queryFn: ({ signal }) => getClient(scope).links.list(query, { signal }),
    placeholderData: keepPreviousData,
  });
  const close = () => setDialog(undefined);
  const filtered = query.search !== undefined || query.tag !== undefined;

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
            onSearch={(search) => setParams({ search, page: undefined })}
          />
          {query.tag !== undefined && (
            <span className="tag">
              {query.tag}
              <IconButton
                label="Clear tag filter"
                onClick={() => setParams({ tag: undefined, page: undefined })}
              >
                <X aria-hidden />
              </IconButton>
            </span>
          )}
        </div>
        <QueryBoundary query={links} label="links" lines={8}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <NoLinks
                filtered={filtered}
                {...(canWrite ? { onCreate: () => setDialog({ kind: "create" }) } : {})}
              />
            ) : (
              <div aria-busy={links.isPlaceholderData}>
                <LinkTable
                  links={data}
                  sort={query.sort}
                  order={query.order}
                  onSort={(sort, order) => setParams({ sort, order, page: undefined })}
                  onTag={(tag) => setParams({ tag, page: undefined })}
                  onAction={(kind, link) => setDialog({ kind, link })}
                />
                <footer className="card-foot">
                  <span>{pluralize(pagination.total, "link")}</span>
                  <Pager
                    page={pagination.page}
                    pages={pagination.total_pages}
                    onPage={(page) => setParams({ page: String(page) })}
                  />
                </footer>
              </div>
            )
          }
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

type ListQuery = Query<"listLinks"> & {
  page: number;
  sort: "created_at" | "clicks";
  order: "asc" | "desc";
};

/** Reads a valid query from the URL; replaces invalid values by defaults. */
function readQuery(params: URLSearchParams): ListQuery {
  const page = Math.floor(Number(params.get("page") ?? 1));
  const search = params.get("search") ?? "";
  const tag = params.get("tag") ?? "";
  return {
    limit: PAGE_SIZE,
    page: page >= 1 && page <= 1_000_000 ? page : 1,
    sort: params.get("sort") === "clicks" ? "clicks" : "created_at",
    order: params.get("order") === "asc" ? "asc" : "desc",
    ...(search === "" ? {} : { search: search.slice(0, 255) }),
    ...(tag === "" ? {} : { tag: tag.slice(0, 50) }),
  };
}

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
