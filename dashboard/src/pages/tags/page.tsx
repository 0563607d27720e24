/**
 * All tags with their links and clicks; members colour, rename, merge and delete them. Below,
 * clicks of a period by tag.
 */
import { useQuery } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import type { Query, Tag } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { toSearch } from "../../data/scope.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { tagClass } from "../../data/tags.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import { useCursorPages } from "../../ui/cursor-pages.ts";
import { useDebounced } from "../../ui/debounced.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { formatCount } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { actionsColumn, Table } from "../../ui/table.tsx";
import { DeleteTagDialog, EditTagDialog } from "./dialogs.tsx";
import { PeriodCard } from "./period-card.tsx";

type Sort = NonNullable<Query<"listTags">["sort"]>;

const SORTS: readonly { value: Sort; label: TextKey }[] = [
  { value: "links", label: "tags.sort.links" },
  { value: "clicks", label: "tags.sort.clicks" },
  { value: "name", label: "tags.sort.name" },
];

/** Tags of a page of the list. */
const PAGE_TAGS = 50;

export function TagsPage() {
  return (
    <Page title={t("shell.pages.tags")} intro={t("tags.intro")}>
      <AllTagsCard />
      <PeriodCard />
    </Page>
  );
}

function AllTagsCard() {
  const { scope } = useAccountContext();
  const [params, setParams] = useSearchState();
  const pages = useCursorPages();
  const [text, setText] = useState("");
  const search = useDebounced(text.trim());
  const sort = SORTS.find(({ value }) => value === params.get("sort"))?.value ?? "links";
  const [editing, setEditing] = useState<Tag>();
  const [deleting, setDeleting] = useState<Tag>();
  // A search starts at the beginning of its own list.
  const after = search === "" ? pages.after : "";
  const query = useQuery({
    queryKey: ["tags", scope, sort, search, after],
    queryFn: ({ signal }) =>
      getClient(scope).tags.list(
        { sort, search, limit: PAGE_TAGS, ...(after === "" ? {} : { starting_after: after }) },
        { signal },
      ),
  });
  return (
    <Card title={t("tags.all")}>
      <div className="stack">
        <div className="columns">
          <TextField
            label={t("tags.search")}
            type="search"
            maxLength={50}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <SelectField
            label={t("tags.order")}
            options={SORTS.map(({ value, label }) => ({ value, label: t(label) }))}
            value={sort}
            onChange={(event) => setParams({ sort: event.target.value, after: undefined })}
          />
        </div>
        <QueryBoundary query={query} label={t("tags.loading")} lines={6}>
          {({ data, next_cursor }) => (
            <>
              {data.length === 0 ? (
                <NoTags isSearch={search !== ""} />
              ) : (
                <TagTable tags={data} onEdit={setEditing} onDelete={setDeleting} />
              )}
              {search === "" && <Pager pages={pages} next={next_cursor} />}
            </>
          )}
        </QueryBoundary>
      </div>
      {editing !== undefined && (
        <EditTagDialog tag={editing} onClose={() => setEditing(undefined)} />
      )}
      {deleting !== undefined && (
        <DeleteTagDialog tag={deleting} onClose={() => setDeleting(undefined)} />
      )}
    </Card>
  );
}

const NoTags = ({ isSearch }: { isSearch: boolean }) => (
  <Empty title={isSearch ? t("tags.noMatch") : t("tags.empty")}>
    <p>{t("tags.emptyHint")}</p>
  </Empty>
);

type TagTableProps = {
  tags: readonly Tag[];
  onEdit: (tag: Tag) => void;
  onDelete: (tag: Tag) => void;
};

function TagTable({ tags, onEdit, onDelete }: TagTableProps) {
  const canWrite = useCanWrite();
  return (
    <Table
      className="stacked"
      label={t("shell.pages.tags")}
      head={[
        t("links.filter.tag"),
        t("shell.pages.links"),
        t("statistics.clicks"),
        actionsColumn(),
      ]}
    >
      {tags.map((tag) => (
        <tr key={tag.name}>
          <td>
            <PageLink
              href={`/tags/${encodeURIComponent(tag.name)}`}
              className={tagClass(tag.color)}
            >
              {tag.name}
            </PageLink>
          </td>
          <td className="number" data-label={t("shell.pages.links")}>
            <PageLink href={`/links?${toSearch({ tag: tag.name })}`}>
              {formatCount(tag.links)}
            </PageLink>
          </td>
          <td className="number" data-label={t("statistics.clicks")}>
            {tag.clicks === null ? "–" : formatCount(tag.clicks)}
          </td>
          <td className="row-actions">
            {canWrite && (
              <>
                <IconButton label={t("tags.edit", { tag: tag.name })} onClick={() => onEdit(tag)}>
                  <Pencil aria-hidden />
                </IconButton>
                <IconButton
                  label={t("tags.deleteOne", { tag: tag.name })}
                  onClick={() => onDelete(tag)}
                >
                  <Trash2 aria-hidden />
                </IconButton>
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
