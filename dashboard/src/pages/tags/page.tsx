/**
 * All tags with their links and clicks; members colour, rename, merge and delete them. Below,
 * clicks of a period by tag.
 */
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import {
  type ResponseBody,
  ShorthopError,
  type Tag,
} from "../../../../clients/typescript/src/index.ts";
import { tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { TAG_COLORS } from "../../../../shared/contracts/tag-schemas.ts";
import { tagClass, useTagClass, useTags } from "../../data/account-lists.ts";
import { toSearch } from "../../data/scope.ts";
import { useApiQuery, useCanWrite, useClient } from "../../data/session.ts";
import { validateWith } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { CsvButton, IconButton } from "../../ui/button.tsx";
import { ActionDialog, FormDialog } from "../../ui/dialog.tsx";
import { CheckField, ChoiceField, SelectField, TextField } from "../../ui/field.tsx";
import { formatCount } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { useDebounced, useSearchState } from "../../ui/search-state.ts";
import { Empty, QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { numberColumn, Pager, RowTable, useCursorPages } from "../../ui/table.tsx";
import {
  AnalyticsQueryContext,
  useAnalytics,
  useAnalyticsQuery,
  useReadAnalyticsQuery,
} from "../analytics/analytics-query.ts";
import { countColumns } from "../analytics/values.tsx";
import { FilterBar, PeriodBar } from "../analytics/view-controls.tsx";

const SORTS = ["links", "clicks", "name"] as const;

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
  const [params, setParams] = useSearchState();
  const pages = useCursorPages();
  const [text, setText] = useState("");
  const search = useDebounced(text.trim());
  const sort = SORTS.find((value) => value === params.get("sort")) ?? "links";
  // A search starts at the beginning of its own list.
  const after = search === "" ? pages.after : "";
  const query = useApiQuery(["tags", sort, search, after], (client, signal) =>
    client.tags.list(
      { sort, search, limit: PAGE_TAGS, ...(after === "" ? {} : { starting_after: after }) },
      { signal },
    ),
  );
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
            options={SORTS.map((value) => ({ value, label: t(`tags.sort.${value}`) }))}
            value={sort}
            onChange={(event) => setParams({ sort: event.target.value, after: undefined })}
          />
        </div>
        <QueryBoundary query={query} label={t("shell.pages.tags")} lines={6}>
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
        name: t("fields.tag"),
        cell: ({ name, color }) => (
          <PageLink href={`/tags/${encodeURIComponent(name)}`} className={tagClass(color)}>
            {name}
          </PageLink>
        ),
      },
      numberColumn<Tag>(t("shell.pages.links"), ({ name, links }) => (
        <PageLink href={`/links?${toSearch({ tag: name })}`}>{formatCount(links)}</PageLink>
      )),
      numberColumn<Tag>(t("statistics.clicks"), ({ clicks }) =>
        clicks === null ? "–" : formatCount(clicks),
      ),
    ]}
    actions={(tag) => <TagActions tag={tag} />}
  />
);

function TagActions({ tag }: { tag: Tag }) {
  return (
    useCanWrite() && (
      <>
        <IconButton
          label={t("tags.edit", { tag: tag.name })}
          opens={(close) => <EditTagDialog tag={tag} onClose={close} />}
        >
          <Pencil aria-hidden />
        </IconButton>
        <IconButton
          label={t("tags.deleteOne", { tag: tag.name })}
          opens={(close) => <DeleteTagDialog tag={tag} onClose={close} />}
        >
          <Trash2 aria-hidden />
        </IconButton>
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
const AFFECTED = ["tags", "analytics", "links", "link"];

function EditTagDialog({ tag, onClose }: TagDialogProps) {
  const client = useClient();
  const known = useTags();
  const [name, setName] = useState(tag.name);
  const [color, setColor] = useState(tag.color);
  const [merge, setMerge] = useState(false);
  const typed = name.trim();
  const save = useApiMutation(
    () =>
      client.tags.update(tag.name, {
        ...(typed === tag.name ? {} : { name: typed, merge }),
        ...(color === tag.color ? {} : { color }),
      }),
    {
      invalidate: AFFECTED,
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
      title={t("tags.edit", { tag: tag.name })}
      action={t("ui.save")}
      onSubmit={() => problem === true && save.mutate()}
      onClose={onClose}
      task={{ isPending: save.isPending, error: wasTaken ? null : save.error }}
    >
      <TextField
        label={t("fields.name")}
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
        label={t("fields.color")}
        options={colorOptions()}
        value={color}
        onChoose={setColor}
      />
    </FormDialog>
  );
}

const DeleteTagDialog = ({ tag, onClose }: TagDialogProps) => (
  <ActionDialog
    title={t("tags.deleteTitle", { tag: tag.name })}
    action={t("tags.delete")}
    run={(client) => client.tags.delete(tag.name)}
    invalidate={AFFECTED}
    successMessage={(count) => t("tags.removed", { count })}
    onClose={onClose}
  >
    <p>{t("tags.deleteText", { count: tag.links })}</p>
  </ActionDialog>
);

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
      actions={<CsvButton path={csvPath} name={t("shell.pages.tags")} />}
    >
      <QueryBoundary query={query} label={t("tags.byTag")} lines={6}>
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
          name: t("fields.tag"),
          cell: ({ values: { tag = "" } }) => (
            <PageLink
              href={`/tags/${encodeURIComponent(tag)}${viewSearch}`}
              className={tagClass(tag)}
            >
              {tag}
            </PageLink>
          ),
        },
        ...countColumns(),
      ]}
    />
  );
}
