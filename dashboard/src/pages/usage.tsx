/** How much of the API's limits is used. */
import { useQuery } from "@tanstack/react-query";

import type { Answer } from "../../../clients/typescript/src/index.ts";
import { clientOf } from "../data/http.ts";
import { useHere } from "../data/session.ts";
import { count, moment } from "../ui/format.ts";
import { Card, Page } from "../ui/page.tsx";
import { Show } from "../ui/states.tsx";

type Limit = Answer<"getLimits">["limits"][number];

const POLL_MS = 5_000;

const NAMES: Readonly<Record<string, string>> = {
  burst: "Requests in a second",
  minute: "Requests in a minute",
  day: "Requests in a day",
};

export function UsagePage() {
  const { place, account, mode } = useHere();
  const limits = useQuery({
    queryKey: ["limits", place],
    queryFn: () => clientOf(place).limits(),
    refetchInterval: POLL_MS,
  });
  return (
    <Page
      title="Usage"
      intro={`What ${account.name} may ask of the API with its ${mode} keys, and what it has used. This page spends nothing.`}
    >
      <Show query={limits} what="limits" lines={7}>
        {(data) => (
          <Card title={`Plan: ${data.plan}`}>
            <ul className="limits">
              {data.limits.map((limit) => (
                <LimitRow key={limit.name} limit={limit} />
              ))}
            </ul>
          </Card>
        )}
      </Show>
    </Page>
  );
}

function LimitRow({ limit }: { limit: Limit }) {
  const used = limit.limit - limit.remaining;
  const name = NAMES[limit.name] ?? limit.name;
  const label = `${name}: ${count(used)} of ${count(limit.limit)} used`;
  return (
    <li>
      <div className="limit-line">
        <span>{name}</span>
        <span>
          {count(used)} of {count(limit.limit)}
        </span>
      </div>
      <meter
        aria-label={label}
        min={0}
        max={limit.limit}
        value={used}
        high={limit.limit * 0.9}
        optimum={0}
      />
      <small className="hint">
        {used === 0
          ? `A window of ${spanOf(limit.window)} opens with the next request.`
          : `Free again ${freeAgain(limit)}.`}
      </small>
    </li>
  );
}

function spanOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 3_600} hours`;
  if (seconds % 3_600 === 0) return "an hour";
  return seconds === 1 ? "a second" : `${seconds} seconds`;
}

/** The time of day; with the date for what is long. */
function freeAgain({ reset, window }: Limit): string {
  const at = new Date(reset * 1_000);
  return window > 3_600 ? moment(at.toISOString()) : `at ${at.toLocaleTimeString("en")}`;
}
