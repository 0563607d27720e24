/** Analytics of many links in one response. */
import { decodeId, type Uuid } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { BulkBody, BulkResponse } from "./bulk-model.ts";
import { countMany, type LinkCounts } from "./bulk.ts";
import { resolveSelection } from "./selection.ts";
import { resolveQueryRange, type SubjectDeps } from "./subject.ts";
import { completeFrom } from "./summary.ts";

const NO_CLICKS: LinkCounts = { clicks: 0, unique_clicks: 0, top_countries: [] };

/** A link of the request, as its text, and the id that this is; undefined for an invalid one. */
type RequestedLink = { text: string; uuid: Uuid | undefined };

/** Returns counts of many links; lists links that the owner does not have in `errors`. */
export async function countRequested(
  deps: SubjectDeps,
  owner: ClicksReader,
  { link_ids, metrics, filters = {}, ...period }: BulkBody,
): Promise<BulkResponse> {
  const clickhouse = deps.clickhouse.for(owner);
  const requested = link_ids.map((text): RequestedLink => ({ text, uuid: decodeId("link", text) }));
  const [created, selection] = await Promise.all([
    deps.links.getCreationTimes(
      owner,
      requested.flatMap(({ uuid }) => uuid ?? []),
    ),
    resolveSelection(deps.links, owner, filters, "filters."),
  ]);
  const now = Date.now();
  const range = resolveQueryRange(deps, period, Math.min(now, ...created.values()), now);
  const counted = await countMany(clickhouse, [...created.keys()], range, selection);
  const response: BulkResponse = { data: [], ...completeFrom(range, selection) };
  for (const { text, uuid } of requested) {
    if (uuid === undefined || !created.has(uuid)) {
      response.errors ??= [];
      response.errors.push({
        link_id: text,
        code: "not_found",
        message: "The link does not exist.",
      });
      continue;
    }
    const counts = counted.get(uuid) ?? NO_CLICKS;
    const values = Object.fromEntries(metrics.map((metric) => [metric, counts[metric]]));
    response.data.push({ link_id: text, ...values });
  }
  return response;
}
