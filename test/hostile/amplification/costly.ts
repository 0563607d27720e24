/**
 * Calls that are expensive because of what an account has: a link with a tenth of a million clicks,
 * 100,000 links with clicks, a tag on 10,000 links. The cost guard's inputs are at the bounds of a
 * request, not of stored data.
 */
import { SUMMED_LINK } from "../../../api/tags/service.ts";
import { encodeId } from "../../../shared/ids.ts";
import { call } from "../../harness/api.ts";
import { RANK_ID_PREFIX } from "../../harness/generated-clicks.ts";
import type { Work } from "./limits.ts";

export type CostlyCall = Work & {
  method: string;
  /** The route, with `:name` for each parameter. */
  route: string;
  /** What of it is expensive. */
  name: string;
  /** Path and query. */
  path: string;
  /** The body of call number `i`. */
  body?: (i: number) => unknown;
  /** Prepares that many calls; its cost does not count. */
  prepare?: (calls: number) => Promise<void>;
};

type Subjects = {
  apiUrl: string;
  key: string;
  /** Ids of the link with most clicks, and of the account's median link. */
  hot: string;
  median: string;
};

/** The ids of links with clicks and the tag, by rank. */
const listRanked = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => {
    const uuid = `${RANK_ID_PREFIX}${(i + 2).toString(16).padStart(12, "0")}`;
    return encodeId("link", uuid);
  });

const get = (route: string, path: string): CostlyCall => ({
  method: "GET",
  route,
  name: path.slice(path.indexOf("?")),
  path,
});

/**
 * A filter that two thirds of all clicks pass, so that no rollup of one dimension has the answer.
 */
const FILTER = "period=90d&device=-mobile&browser=-Edge";

/** Analytics of a link or of the account: each count over 90 days, with filters. */
const listAnalytics = (path: string, route: string): CostlyCall[] =>
  [
    ["", `?${FILTER}&compare=previous`],
    ["", "?period=90d&compare=previous"],
    ["/geo", `?${FILTER}&group_by=city&limit=100`],
    ["/devices", `?${FILTER}`],
    ["/referrers", `?${FILTER}&limit=100`],
    ["/breakdown", `?${FILTER}&by=city,referrer&limit=100`],
    ["/times", `?${FILTER}`],
  ].map(([part = "", query = ""]) => get(route + part, path + part + query));

const change = (
  method: "POST" | "PATCH",
  route: string,
  name: string,
  body: (i: number) => unknown,
): CostlyCall => ({ method, route, name, path: route, body });

/** Every expensive call; `subjects` are in the account that calls. */
export function listCostly({ apiUrl, key, hot, median }: Subjects): CostlyCall[] {
  const ranked = listRanked(100);
  const deletable: string[][] = [];

  async function createLinks(): Promise<string[]> {
    const links = Array.from({ length: 100 }, () => ({ url: "https://example.com/" }));
    const { body } = await call(`${apiUrl}/v1/links/bulk`, { key, body: { links } });
    // The shape of the response is the API's own, which its tests check.
    const { data } = body as { data: { link: { id: string } }[] };
    return data.map(({ link }) => link.id);
  }

  return [
    ...listAnalytics(`/v1/analytics/${hot}`, "/v1/analytics/:link_id"),
    ...listAnalytics("/v1/analytics", "/v1/analytics"),
    get("/v1/analytics", "/v1/analytics?period=90d&tag=campaign&limit=100"),
    get("/v1/analytics/geo", "/v1/analytics/geo?period=90d&tag=campaign&group_by=city&limit=100"),
    get("/v1/analytics/breakdown", "/v1/analytics/breakdown?period=90d&by=tag&limit=100"),
    get("/v1/analytics/breakdown", "/v1/analytics/breakdown?period=90d&by=link,city&limit=100"),
    get("/v1/analytics/:link_id/targets", `/v1/analytics/${hot}/targets?period=90d`),
    get("/v1/clicks", "/v1/clicks?period=90d&city=nowhere&limit=1000"),
    get("/v1/clicks", "/v1/clicks?period=90d&limit=1000"),
    get("/v1/clicks/export", "/v1/clicks/export?period=90d"),
    { ...get("/v1/links", "/v1/links?search=ex&sort=clicks&limit=100"), listed: 10_000 },
    get("/v1/links", "/v1/links?tag=campaign&limit=100&page=50"),
    { ...get("/v1/tags", "/v1/tags?sort=clicks&limit=100"), listed: SUMMED_LINK * 10_000 },
    change("POST", "/v1/analytics/bulk", "100 links, all metrics, a filter", () => ({
      link_ids: [...ranked.slice(1), hot],
      period: "90d",
      filters: { os: "iOS" },
    })),
    {
      // There and back.
      ...change("POST", "/v1/tags/merge", "a tag of 10,000 links", (i) =>
        i % 2 === 0
          ? { tags: ["campaign"], into: "campaign-2" }
          : { tags: ["campaign-2"], into: "campaign" },
      ),
      links: 10_000,
    },
    {
      ...change("POST", "/v1/links", "a password", (i) => ({
        url: "https://example.com/",
        password: `a password ${i}`,
      })),
      passwords: 1,
    },
    {
      ...change("PATCH", "/v1/links/:id", "a password", (i) => ({ password: `a password ${i}` })),
      path: `/v1/links/${median}`,
      passwords: 1,
    },
    {
      ...change("PATCH", "/v1/links/bulk", "100 titles", (i) => ({
        links: ranked.map((id) => ({ id, title: `title ${i}` })),
      })),
      links: 100,
    },
    {
      ...change("PATCH", "/v1/links/bulk", "10 passwords", (i) => ({
        links: ranked.slice(0, 10).map((id) => ({ id, password: `a password ${i}` })),
      })),
      passwords: 10,
    },
    {
      ...change("POST", "/v1/links/bulk/delete", "100 links", (i) => ({ ids: deletable[i] ?? [] })),
      links: 100,
      prepare: async (calls) => {
        deletable.length = 0;
        while (deletable.length < calls) deletable.push(await createLinks());
      },
    },
  ];
}
