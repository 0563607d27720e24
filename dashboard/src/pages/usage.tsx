/** Usage of the account's quotas and API rate limits. */
import type { ReactNode } from "react";

import type { ResponseBody } from "../../../clients/typescript/src/index.ts";
import { useAccountContext, useApiQuery } from "../data/session.ts";
import { fieldName } from "../languages/errors.ts";
import { findText, t } from "../languages/translate.ts";
import { formatDateTime, formatTime } from "../ui/format.ts";
import { Card, Page } from "../ui/page.tsx";
import { QueryBoundary } from "../ui/states.tsx";

type Limits = ResponseBody<"getLimits">;
type Quota = Limits["quotas"][number];

const POLL_MS = 5_000;

const HOUR_SECONDS = 3_600;

export function UsagePage() {
  const { account, mode } = useAccountContext();
  const limits = useApiQuery(["limits"], (client) => client.limits(), {
    refetchInterval: POLL_MS,
  });
  return (
    <Page
      title={t("shell.pages.usage")}
      intro={t(mode === "live" ? "usage.introLive" : "usage.introTest", {
        account: account.name,
        plan: account.plan,
      })}
    >
      <QueryBoundary query={limits} label={t("shell.pages.usage")} lines={7}>
        {(data) => (
          <div className="usage">
            <Card title={t("usage.quotasTitle")}>
              <p className="hint">{t("usage.quotasHint")}</p>
              <ul className="limits">
                {data.quotas.map((quota) => (
                  <UsageRow key={quota.name} name={fieldName(quota.name)} usage={quota}>
                    {describeQuota(quota)}
                  </UsageRow>
                ))}
              </ul>
            </Card>
            <Card title={t("usage.requestsTitle")}>
              <p className="hint">{t("usage.requestsHint")}</p>
              <ul className="limits">
                {data.limits.map((limit) => (
                  <UsageRow
                    key={limit.name}
                    name={findText(`usage.limits.${limit.name}`) ?? limit.name}
                    usage={limit}
                  >
                    {describeWindow(limit, "usage.startsWithRequest")}
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
        <span>{t("usage.of", { used, limit })}</span>
      </div>
      <meter
        aria-label={t("usage.meter", { name, used, limit })}
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

function describeQuota(quota: Quota): string {
  const { window, reset } = quota;
  if (window !== null && reset !== null) {
    return describeWindow({ ...quota, window, reset }, "usage.startsWithUse");
  }
  // What counts as held can be freed.
  return findText(`usage.hints.${quota.name}`) ?? "";
}

/**
 * Says when a window ends, with the date if it is a long one; `start` is the text of one that has
 * not begun.
 */
function describeWindow(
  { limit, remaining, window, reset }: Usage & { window: number; reset: number },
  start: "usage.startsWithUse" | "usage.startsWithRequest",
): string {
  if (limit === remaining) {
    return window % HOUR_SECONDS === 0
      ? t(`${start}.hours`, { count: window / HOUR_SECONDS })
      : t(`${start}.seconds`, { count: window });
  }
  const time = new Date(reset * 1_000);
  return window > HOUR_SECONDS
    ? t("usage.resets", { time: formatDateTime(time.toISOString()) })
    : t("usage.resetsAt", { time: formatTime(time) });
}
