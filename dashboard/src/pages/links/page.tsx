/** The account's links: found, sorted and paged by what the address says. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Plus, Search, Upload, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Link, Query } from "../../../../clients/typescript/src/index.ts";
import { clientOf } from "../../data/http.ts";
import { useHere, useMayWrite } from "../../data/session.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { counted } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { useParams } from "../../ui/params.ts";
import { Empty, Show } from "../../ui/states.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { QrDialog } from "./qr-dialog.tsx";
import { LinkTable } from "./table.tsx";

const LIMIT = 20;

/** What is done to a link in a dialog. */
type Opened = { what: "create" | "export" } | { what: "edit" | "qr" | "delete"; link: Link };

export function LinksPage() {
  const { place } = useHere();
  const mayWrite = useMayWrite();
  const [opened, setOpened] = useState<Opened>();
  const [params, setParams] = useParams();
  const query = readQuery(params);
  const links = useQuery({
    queryKey: ["links", place, query],
    queryFn: ({ signal }) => clientOf(place).links.list(query, { signal }),
    placeholderData: keepPreviousData,
  });
  const close = () => setOpened(undefined);
  const filtered = query.search !== undefined || query.tag !== undefined;

  return (
    <Page
      title="Links"
      actions={
        <>
          <Button onClick={() => setOpened({ what: "export" })}>
            <Download aria-hidden /> Export
          </Button>
          {mayWrite && (
            <>
              <PageLink href="/links/import" className="button button-plain">
                <Upload aria-hidden /> Import
              </PageLink>
              <Button look="primary" onClick={() => setOpened({ what: "create" })}>
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
                label="Show links with any tag"
                onClick={() => setParams({ tag: undefined, page: undefined })}
              >
                <X aria-hidden />
              </IconButton>
            </span>
          )}
        </div>
        <Show query={links} what="links" lines={8}>
          {({ data, pagination }) =>
            data.length === 0 ? (
              <NoLinks
                filtered={filtered}
                {...(mayWrite ? { onCreate: () => setOpened({ what: "create" }) } : {})}
              />
            ) : (
              <div aria-busy={links.isPlaceholderData}>
                <LinkTable
                  links={data}
                  sort={query.sort}
                  order={query.order}
                  onSort={(sort, order) => setParams({ sort, order, page: undefined })}
                  onTag={(tag) => setParams({ tag, page: undefined })}
                  onAction={(what, link) => setOpened({ what, link })}
                />
                <footer className="card-foot">
                  <span>{counted(pagination.total, "link")}</span>
                  <Pager
                    page={pagination.page}
                    pages={pagination.total_pages}
                    onPage={(page) => setParams({ page: String(page) })}
                  />
                </footer>
              </div>
            )
          }
        </Show>
      </Card>
      {opened?.what === "create" && <EditDialog onClose={close} />}
      {opened?.what === "edit" && <EditDialog link={opened.link} onClose={close} />}
      {opened?.what === "qr" && <QrDialog link={opened.link} onClose={close} />}
      {opened?.what === "delete" && <DeleteDialog link={opened.link} onClose={close} />}
      {opened?.what === "export" && <ExportDialog onClose={close} />}
    </Page>
  );
}

type ListQuery = Query<"listLinks"> & {
  page: number;
  sort: "created_at" | "clicks";
  order: "asc" | "desc";
};

/** Whatever an address says, a question that can be asked. */
function readQuery(params: URLSearchParams): ListQuery {
  const page = Math.floor(Number(params.get("page") ?? 1));
  const search = params.get("search") ?? "";
  const tag = params.get("tag") ?? "";
  return {
    limit: LIMIT,
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
          // The cross in the field clears the search too.
          if (event.target.value === "" && search !== "") onSearch("");
        }}
      />
    </form>
  );
}

const NoLinks = ({ filtered, onCreate }: { filtered: boolean; onCreate?: () => void }) =>
  filtered ? (
    <Empty title="No link matches">
      <p>Try other words, or fewer of them.</p>
    </Empty>
  ) : (
    <Empty title="No links yet">
      <p>A short link redirects from the moment you make it, and counts every click.</p>
      {onCreate !== undefined && (
        <Button look="primary" onClick={onCreate}>
          Make the first link
        </Button>
      )}
    </Empty>
  );
