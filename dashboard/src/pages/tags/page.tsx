/**
 * All tags with their links and clicks; members colour, rename, merge and delete them. Below,
 * clicks of a period by tag.
 */
import { useQuery } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import {
  type Query,
  type ResponseBody,
  ShorthopError,
  type Tag,
} from "../../../../clients/typescript/src/index.ts";
import { tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { TAG_COLORS } from "../../../../shared/contracts/tag-schemas.ts";
import { tagClass, useTagClass, useTags } from "../../data/account-lists.ts";
import { getClient } from "../../data/http.ts";
import { toSearch } from "../../data/scope.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { t } from "../../languages/translate.ts";
import { CsvButton, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, FormDialog, useDialog } from "../../ui/dialog.tsx";
import { CheckField, ChoiceField, SelectField, TextField } from "../../ui/field.tsx";
import { formatCount, formatPercent } from "../../ui/format.ts";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Pager, useCursorPages } from "../../ui/pager.tsx";
import { useDebounced, useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";
import {
  AnalyticsQueryContext,
  useAnalytics,
  useAnalyticsQuery,
  useReadAnalyticsQuery,
} from "../analytics/analytics-query.ts";
import { FilterBar } from "../analytics/filter-bar.tsx";
import { PeriodBar } from "../analytics/period-bar.tsx";

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
              {data.length === 0 ? <NoTags isSearch={search !== ""} /> : <TagTable tags={data} />}
              {search === "" && <Pager pages={pages} next={next_cursor} />}
            </>
          )}
        </QueryBoundary>
      </div>
    </Card>
  );
}

const NoTags = ({ isSearch }: { isSearch: boolean }) => (
  <Empty title={isSearch ? t("tags.noMatch") : t("tags.empty")}>
    <p>{t("tags.emptyHint")}</p>
  </Empty>
);

const TagTable = ({ tags }: { tags: readonly Tag[] }) => (
  <RowTable
    label={t("shell.pages.tags")}
    rows={tags}
    keyOf={({ name }) => name}
    columns={[
      {
        name: t("links.filter.tag"),
        cell: ({ name, color }) => (
          <PageLink href={`/tags/${encodeURIComponent(name)}`} className={tagClass(color)}>
            {name}
          </PageLink>
        ),
      },
      {
        name: t("shell.pages.links"),
        isNamed: true,
        className: "number",
        cell: ({ name, links }) => (
          <PageLink href={`/links?${toSearch({ tag: name })}`}>{formatCount(links)}</PageLink>
        ),
      },
      {
        name: t("statistics.clicks"),
        isNamed: true,
        className: "number",
        cell: ({ clicks }) => (clicks === null ? "–" : formatCount(clicks)),
      },
    ]}
    actions={(tag) => <TagActions tag={tag} />}
  />
);

function TagActions({ tag }: { tag: Tag }) {
  const canWrite = useCanWrite();
  const { open, dialog } = useDialog();
  return (
    canWrite && (
      <>
        <IconButton
          label={t("tags.edit", { tag: tag.name })}
          onClick={() => open((close) => <EditTagDialog tag={tag} onClose={close} />)}
        >
          <Pencil aria-hidden />
        </IconButton>
        <IconButton
          label={t("tags.deleteOne", { tag: tag.name })}
          onClick={() => open((close) => <DeleteTagDialog tag={tag} onClose={close} />)}
        >
          <Trash2 aria-hidden />
        </IconButton>
        {dialog}
      </>
    )
  );
}

type TagDialogProps = { tag: Tag; onClose: () => void };

const colorOptions = () => [
  { value: null, label: t("tags.noColor") },
  ...TAG_COLORS.map((color) => ({ value: color, label: t(`tags.colors.${color}`) })),
];

/** The queries that a change of a tag affects. */
function useAffectedQueries() {
  const { scope } = useAccountContext();
  return ["tags", "analytics", "links", "link"].map((name) => [name, scope]);
}

function EditTagDialog({ tag, onClose }: TagDialogProps) {
  const { scope } = useAccountContext();
  const known = useTags();
  const [name, setName] = useState(tag.name);
  const [color, setColor] = useState(tag.color);
  const [merge, setMerge] = useState(false);
  const typed = name.trim();
  const save = useApiMutation(
    () =>
      getClient(scope).tags.update(tag.name, {
        ...(typed === tag.name ? {} : { name: typed, merge }),
        ...(color === tag.color ? {} : { color }),
      }),
    {
      invalidate: useAffectedQueries(),
      successMessage: ({ changed }) =>
        changed === 0 ? t("tags.changed") : t("tags.linksChanged", { count: changed }),
      onSuccess: onClose,
    },
  );
  // The API knows tags that this page does not.
  const wasTaken = save.error instanceof ShorthopError && save.error.code === "tag_taken";
  const isTaken = typed !== tag.name && (wasTaken || known.some((each) => each.name === typed));
  const rule = validateWith(tagRule)(name);
  const problem = rule === true && isTaken && !merge ? t("tags.mergeFirst") : rule;
  return (
    <FormDialog
      title={t("tags.editTitle", { tag: tag.name })}
      action={t("links.form.save")}
      onSubmit={() => problem === true && save.mutate()}
      onClose={onClose}
      task={{ isPending: save.isPending, error: wasTaken ? null : save.error }}
    >
      <TextField
        label={t("tags.name")}
        hint={t("tags.nameHint")}
        value={name}
        error={problem === true ? undefined : problem}
        onChange={(event) => {
          setName(event.target.value);
          // Permitted for one name, and not for the next.
          setMerge(false);
          save.reset();
        }}
      />
      {isTaken && (
        <CheckField
          label={t("tags.merge", { tag: typed })}
          checked={merge}
          onChange={(event) => setMerge(event.target.checked)}
        />
      )}
      <ChoiceField
        label={t("tags.color")}
        options={colorOptions()}
        value={color}
        onChoose={setColor}
      />
    </FormDialog>
  );
}

function DeleteTagDialog({ tag, onClose }: TagDialogProps) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).tags.delete(tag.name), {
    invalidate: useAffectedQueries(),
    successMessage: (changed) => t("tags.removed", { count: changed }),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("tags.deleteTitle", { tag: tag.name })}
      action={t("tags.delete")}
      onClose={onClose}
      task={remove}
    >
      <p>{t("tags.deleteText", { count: tag.links })}</p>
    </ConfirmDialog>
  );
}

type Tags = ResponseBody<"getAccountBreakdown">;

/** Maximum tags of one request, the API's maximum. */
const TAGS_MAX = "100";

function PeriodCard() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <AnalyticsQueryContext value={analyticsQuery}>
      <PeriodBar comparable={false}>
        <FilterBar />
      </PeriodBar>
      <ClicksByTag />
    </AnalyticsQueryContext>
  );
}

function ClicksByTag() {
  const { query, csvPath } = useAnalytics<Tags>("/breakdown", { by: "tag", limit: TAGS_MAX });
  return (
    <Card
      title={t("tags.periodTitle")}
      actions={<CsvButton path={csvPath} name={t("tags.loading")} file="tags" />}
    >
      <QueryBoundary query={query} label={t("tags.loadingClicks")} lines={6}>
        {({ data }) =>
          data.length === 0 ? <Empty title={t("tags.noClicks")} /> : <PeriodTable rows={data} />
        }
      </QueryBoundary>
    </Card>
  );
}

function PeriodTable({ rows }: { rows: Tags["data"] }) {
  const { viewSearch } = useAnalyticsQuery();
  const tagClass = useTagClass();
  return (
    <RowTable
      label={t("tags.byTag")}
      rows={rows}
      keyOf={({ values: { tag = "" } }) => tag}
      columns={[
        {
          name: t("links.filter.tag"),
          cell: ({ values: { tag = "" } }) => (
            <PageLink
              href={`/tags/${encodeURIComponent(tag)}${viewSearch}`}
              className={tagClass(tag)}
            >
              {tag}
            </PageLink>
          ),
        },
        {
          name: t("statistics.clicks"),
          isNamed: true,
          className: "number",
          cell: ({ clicks }) => formatCount(clicks),
        },
        {
          name: t("analytics.dimensions.visitors"),
          isNamed: true,
          className: "number",
          cell: ({ unique_clicks }) => formatCount(unique_clicks),
        },
        {
          name: t("analytics.values.share"),
          isNamed: true,
          className: "number",
          cell: ({ percentage }) => formatPercent(percentage),
        },
      ]}
    />
  );
}
