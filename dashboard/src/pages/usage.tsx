/** Usage of the account's quotas and API rate limits. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { ResponseBody } from "../../../clients/typescript/src/index.ts";
import { getClient } from "../data/http.ts";
import { useAccountContext } from "../data/session.ts";
import { formatCount, formatDateTime } from "../ui/format.ts";
import { Card, Page } from "../ui/page.tsx";
import { QueryBoundary } from "../ui/states.tsx";

type Limits = ResponseBody<"getLimits">;
type Quota = Limits["quotas"][number];

const POLL_MS = 5_000;

const LIMIT_NAMES: Readonly<Record<string, string>> = {
  burst: "Requests per second",
  minute: "Requests per minute",
  day: "Requests per day",
};

const QUOTA_NAMES: Readonly<Record<Quota["name"], string>> = {
  links_per_day: "Links created per day",
  invitations_per_day: "Invitations per day",
  domains: "Domains",
  api_keys: "API keys",
  live_streams: "Concurrent live views",
};

/** Hints for quotas without a window: how to free up capacity. */
const QUOTA_HINTS: Readonly<Partial<Record<Quota["name"], string>>> = {
  domains: "Remove a domain to add another.",
  api_keys: "Revoked and expired keys do not count.",
  live_streams: "Close a page with live clicks to open another.",
};

export function UsagePage() {
  const { scope, account, mode } = useAccountContext();
  const limits = useQuery({
    queryKey: ["limits", scope],
    queryFn: () => getClient(scope).limits(),
    refetchInterval: POLL_MS,
  });
  return (
    <Page
      title="Usage"
      intro={`Quotas and API rate limits of ${account.name} in ${mode} mode, on the ${account.plan} plan.`}
    >
      <QueryBoundary query={limits} label="limits" lines={7}>
        {(data) => (
          <div className="usage">
            <Card title="Quotas">
              <p className="hint">Shared by the dashboard and the API.</p>
              <ul className="limits">
                {data.quotas.map((quota) => (
                  <UsageRow key={quota.name} name={QUOTA_NAMES[quota.name]} usage={quota}>
                    {describeQuota(quota)}
                  </UsageRow>
                ))}
              </ul>
            </Card>
            <Card title="API requests">
              <p className="hint">Requests with API keys. The dashboard does not count.</p>
              <ul className="limits">
                {data.limits.map((limit) => (
                  <UsageRow
                    key={limit.name}
                    name={LIMIT_NAMES[limit.name] ?? limit.name}
                    usage={limit}
                  >
                    {describeWindow(limit, "request")}
                  </UsageRow>
                ))}
              </ul>
            </Card>
          </div>
        )}
      </QueryBoundary>
    </Page>
  );
}

type Usage = { limit: number; remaining: number };

function UsageRow({
  name,
  usage: { limit, remaining },
  children,
}: {
  name: string;
  usage: Usage;
  children: ReactNode;
}) {
  const used = limit - remaining;
  return (
    <li>
      <div className="limit-line">
        <span>{name}</span>
        <span>
          {formatCount(used)} of {formatCount(limit)}
        </span>
      </div>
      <meter
        aria-label={`${name}: ${formatCount(used)} of ${formatCount(limit)} used`}
        min={0}
        max={limit}
        value={used}
        high={limit * 0.9}
        optimum={0}
      />
      <small className="hint">{children}</small>
    </li>
  );
}

const describeQuota = (quota: Quota): string =>
  quota.window === null || quota.reset === null
    ? (QUOTA_HINTS[quota.name] ?? "")
    : describeWindow({ ...quota, window: quota.window, reset: quota.reset }, "use");

const describeWindow = (
  { limit, remaining, window, reset }: Usage & { window: number; reset: number },
  trigger: string,
): string =>
  limit === remaining
    ? `The ${formatWindow(window)} window starts with the next ${trigger}.`
    : `Resets ${formatReset(reset, window)}.`;

function formatWindow(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}-hour`;
  return `${seconds}-second`;
}

/** Formats the time of a reset, with the date for windows of more than an hour. */
function formatReset(reset: number, window: number): string {
  const time = new Date(reset * 1_000);
  return window > 3_600
    ? formatDateTime(time.toISOString())
    : `at ${time.toLocaleTimeString("en")}`;
}
