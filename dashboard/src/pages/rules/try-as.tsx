/**
 * Tests a link as a certain kind of visitor: shows where it redirects, and why, using the API's
 * explanation.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import codes from "i18n-iso-countries/codes.json";
import { Check, X } from "lucide-react";
import { useState } from "react";

import type { Body, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { countryName } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { CONDITION_TYPES } from "./condition-types.ts";

type Visitor = Body<"explainLink">;
type Explanation = ResponseBody<"explainLink">;

/** User agents of common devices. */
const DEVICES: Readonly<Record<string, string>> = {
  iPhone:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
  "Android phone":
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
  iPad: "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1",
  "Windows PC":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
  Mac: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
  "Linux PC": "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
};

const COUNTRIES = codes
  .map(([code = ""]) => ({ value: code, label: countryName(code) }))
  .toSorted((a, b) => a.label.localeCompare(b.label, "en"));

const CONTINENTS = ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] as const;

export function TryAs({ link, version, dirty }: { link: string; version: string; dirty: boolean }) {
  const { scope } = useAccountContext();
  const [visitor, setVisitor] = useState<Visitor>({ user_agent: DEVICES["iPhone"] ?? "" });
  const explanation = useQuery({
    // The version changes when the rules do.
    queryKey: ["explanation", scope, link, version, visitor],
    queryFn: ({ signal }) => getClient(scope).links.explain(link, visitor, { signal }),
    placeholderData: keepPreviousData,
  });
  return (
    <Card title="Try as" className="try-as">
      <div className="stack">
        <VisitorFields visitor={visitor} onChange={setVisitor} />
        {dirty && <p className="warning">Save to try your changes.</p>}
        <QueryBoundary query={explanation} label="the destination" lines={3}>
          {(data) => <Outcome explanation={data} />}
        </QueryBoundary>
      </div>
    </Card>
  );
}

function VisitorFields({
  visitor,
  onChange,
}: {
  visitor: Visitor;
  onChange: (visitor: Visitor) => void;
}) {
  const device = Object.keys(DEVICES).find((name) => DEVICES[name] === visitor.user_agent);
  /** Sets a field, or removes it from the request. */
  const set = (name: keyof Visitor, value: string) => {
    const { [name]: _old, ...others } = visitor;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  return (
    <>
      <div className="columns">
        <SelectField
          label="Device"
          value={device ?? ""}
          options={Object.keys(DEVICES).map((name) => ({ value: name, label: name }))}
          onChange={(event) => set("user_agent", DEVICES[event.target.value] ?? "")}
        />
        <SelectField
          label="Country"
          value={visitor.country ?? ""}
          options={[{ value: "", label: "unknown" }, ...COUNTRIES]}
          onChange={(event) => set("country", event.target.value)}
        />
      </div>
      <TextField
        label="Time"
        type="datetime-local"
        hint="Now when empty."
        onChange={(event) => set("at", event.target.value && toInstant(event.target.value))}
      />
      <details>
        <summary>More about the visitor</summary>
        <div className="stack">
          <SelectField
            label="Continent"
            value={visitor.continent ?? ""}
            options={["", ...CONTINENTS].map((value) => ({ value, label: value || "unknown" }))}
            onChange={(event) => set("continent", event.target.value)}
          />
          <TextField
            label="Language"
            placeholder="de-AT,de;q=0.9"
            value={visitor.language ?? ""}
            onChange={(event) => set("language", event.target.value)}
          />
          <TextField
            label="Referrer"
            placeholder="https://news.example.com/"
            value={visitor.referrer ?? ""}
            onChange={(event) => set("referrer", event.target.value)}
          />
          <TextField
            label="Query"
            placeholder="utm_source=mail"
            value={visitor.query ?? ""}
            onChange={(event) => set("query", event.target.value)}
          />
        </div>
      </details>
    </>
  );
}

const Outcome = ({ explanation }: { explanation: Explanation }) => {
  const { status, target, rules, requires_password } = explanation;
  return (
    <div className="stack">
      <p className="outcome" role="status">
        {target === null ? (
          <>
            No redirect: the link is <strong>{status}</strong>.
          </>
        ) : (
          <>
            {describeTarget(explanation)}: redirects to <strong>{target.url}</strong>
            {requires_password && ", after the password"}
          </>
        )}
      </p>
      <ol className="explanation" aria-label="Why">
        {rules.map(({ id, conditions }, i) => (
          <li key={id}>
            Rule {i + 1}
            <ul>
              {conditions.map(({ type, matched, actual }, j) => (
                <li key={j} className={matched ? "met" : "unmet"}>
                  {matched ? <Check aria-label="met:" /> : <X aria-label="not met:" />}
                  {labelOf(type)}: {actual === "" ? "none" : (actual ?? "unknown")}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </div>
  );
};

const labelOf = (type: string): string =>
  Object.entries(CONDITION_TYPES).find(([name]) => name === type)?.[1].label ?? type;

function describeTarget({ target, rules }: Explanation): string {
  if (target?.kind === "rule") return `Rule ${rules.findIndex(({ id }) => id === target.id) + 1}`;
  return target?.kind === "arm" ? "The split" : "No rule matches";
}
