/** Tags by clicks, each with its own page; members can rename and merge them. */
import { Pencil } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import type { ResponseBody } from "../../../clients/typescript/src/index.ts";
import { tag as tagRule } from "../../../shared/contracts/link-schemas.ts";
import { getClient } from "../data/http.ts";
import { useApiMutation } from "../data/mutation.ts";
import { useAccountContext, useCanWrite } from "../data/session.ts";
import { IconButton } from "../ui/button.tsx";
import { Dialog, DialogForm } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { formatCount, formatPercent, pluralize } from "../ui/format.ts";
import { Card, Page } from "../ui/page.tsx";
import { Empty, QueryBoundary } from "../ui/states.tsx";
import { ACTIONS, Table } from "../ui/table.tsx";
import { validateWith } from "../ui/validation.ts";
import {
  AnalyticsQueryContext,
  useAnalytics,
  useReadAnalyticsQuery,
  useViewSearch,
} from "./analytics/analytics-query.ts";
import { CsvButton } from "./analytics/csv-button.tsx";
import { FilterBar } from "./analytics/filter-bar.tsx";
import { PeriodBar } from "./analytics/period-bar.tsx";

type Tags = ResponseBody<"getAccountBreakdown">;

/** Maximum tags of one request, the API's maximum. */
const TAGS_MAX = "100";

export function TagsPage() {
  const analyticsQuery = useReadAnalyticsQuery();
  return (
    <Page title="Tags" intro="The tags of links with clicks in this period.">
      <AnalyticsQueryContext value={analyticsQuery}>
        <PeriodBar comparable={false} />
        <FilterBar />
        <TagsCard />
      </AnalyticsQueryContext>
    </Page>
  );
}

function TagsCard() {
  const { query, csvPath } = useAnalytics<Tags>("/breakdown", { by: "tag", limit: TAGS_MAX });
  const [renaming, setRenaming] = useState<string>();
  return (
    <Card title="Tags" actions={<CsvButton path={csvPath} name="tags" />}>
      <QueryBoundary query={query} label="tags" lines={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No tags with clicks">
              <p>Give links tags to see the clicks of all that belong together.</p>
            </Empty>
          ) : (
            <TagTable rows={data} onRename={setRenaming} />
          )
        }
      </QueryBoundary>
      {renaming !== undefined && (
        <RenameDialog tag={renaming} onClose={() => setRenaming(undefined)} />
      )}
    </Card>
  );
}

function TagTable({ rows, onRename }: { rows: Tags["data"]; onRename: (tag: string) => void }) {
  const canWrite = useCanWrite();
  const search = useViewSearch();
  return (
    <Table label="Tags" head={["Tag", "Clicks", "Visitors", "Share", ACTIONS]}>
      {rows.map(({ values: { tag = "" }, clicks, unique_clicks, percentage }) => (
        <tr key={tag}>
          <td>
            <PageLink href={`/tags/${encodeURIComponent(tag)}${search}`} className="tag">
              {tag}
            </PageLink>
          </td>
          <td className="number">{formatCount(clicks)}</td>
          <td className="number">{formatCount(unique_clicks)}</td>
          <td className="number">{formatPercent(percentage)}</td>
          <td className="row-actions">
            {canWrite && (
              <IconButton label={`Rename ${tag}`} onClick={() => onRename(tag)}>
                <Pencil aria-hidden />
              </IconButton>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function RenameDialog({ tag, onClose }: { tag: string; onClose: () => void }) {
  const { scope } = useAccountContext();
  const [name, setName] = useState(tag);
  const problem = validateWith(tagRule)(name);
  const rename = useApiMutation(() => getClient(scope).tags.rename(tag, name.trim()), {
    invalidate: [
      ["analytics", scope],
      ["links", scope],
    ],
    successMessage: (changed) => `${pluralize(changed, "link")} changed.`,
    onSuccess: onClose,
  });
  return (
    <Dialog title={`Rename ${tag}`} onClose={onClose}>
      <DialogForm
        action="Rename"
        onSubmit={() => problem === true && rename.mutate()}
        onCancel={onClose}
        loading={rename.isPending}
        error={rename.error}
      >
        <TextField
          label="Name"
          hint="On all links. The name of another tag merges the two."
          value={name}
          error={problem === true ? undefined : problem}
          onChange={(event) => setName(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}
