/**
 * Tests a link as a certain kind of visitor: shows where it redirects, and why, using the API's
 * explanation.
 */
import { keepPreviousData } from "@tanstack/react-query";
import { Check, X } from "lucide-react";
import { useState } from "react";

import type { Body, FullLink, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { WEEKDAYS } from "../../../../shared/contracts/analytics.ts";
import { CONTINENTS, describeValue } from "../../../../shared/statistics/values.ts";
import { codesOf, optionsOf, toCodes } from "../../data/named-values.ts";
import { useApiQuery } from "../../data/session.ts";
import { rich, statisticsLanguage, strong, t, type TextKey } from "../../languages/translate.ts";
import { ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formatWeekday } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { CONDITION_TYPES } from "./condition-fields.tsx";
import { versionName } from "./split-editor.tsx";

type Visitor = Body<"explainLink">;
type Explanation = ResponseBody<"explainLink">;

/** User agents of common devices, by name. */
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

/** Names of devices that differ between languages. */
const DEVICE_NAMES: Readonly<Record<string, TextKey>> = {
  "Android phone": "rules.try.devices.android",
  "Windows PC": "rules.try.devices.windows",
  "Linux PC": "rules.try.devices.linux",
};

function deviceLabel(name: string): string {
  const key = DEVICE_NAMES[name];
  return key === undefined ? name : t(key);
}

const STATUSES = [
  "active",
  "scheduled",
  "disabled",
  "expired",
  "limit_reached",
  "taken_down",
] as const;

export function TryAs({ link, dirty }: { link: FullLink; dirty: boolean }) {
  const [visitor, setVisitor] = useState<Visitor>({ user_agent: DEVICES["iPhone"] ?? "" });
  const explanation = useApiQuery(
    // The time changes when the rules do.
    ["explanation", link.id, link.updated_at, visitor],
    (client, signal) => client.links.explain(link.id, visitor, { signal }),
    { placeholderData: keepPreviousData },
  );
  return (
    <Card title={t("rules.try.title")} className="try-as">
      <div className="stack">
        <VisitorFields visitor={visitor} onChange={setVisitor} />
        {dirty && <p className="warning">{t("rules.try.save")}</p>}
        <QueryBoundary query={explanation} label={t("rules.try.destination")} lines={3}>
          {(data) => <Outcome explanation={data} split={link.split} />}
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
          label={t("analytics.dimensions.device")}
          value={device ?? ""}
          options={Object.keys(DEVICES).map((name) => ({ value: name, label: deviceLabel(name) }))}
          onChange={(event) => set("user_agent", DEVICES[event.target.value] ?? "")}
        />
        <SelectField
          label={t("analytics.dimensions.country")}
          value={visitor.country ?? ""}
          options={[
            { value: "", label: t("rules.try.unknown") },
            ...codesOf("country").map(({ code, name }) => ({ value: code, label: name })),
          ]}
          onChange={(event) => set("country", event.target.value)}
        />
      </div>
      <TextField
        label={t("rules.try.time")}
        type="datetime-local"
        hint={t("rules.try.timeHint")}
        onChange={(event) => set("at", event.target.value && toInstant(event.target.value))}
      />
      <MoreFields visitor={visitor} set={set} />
    </>
  );
}

type MoreFieldsProps = { visitor: Visitor; set: (name: keyof Visitor, value: string) => void };

/** Fields that are rarely set. */
function MoreFields({ visitor, set }: MoreFieldsProps) {
  /** As typed: by name, by code, or as a browser sends them. */
  const [languages, setLanguages] = useState("");
  return (
    <details>
      <summary>{t("rules.try.more")}</summary>
      <div className="stack">
        <SelectField
          label={t("analytics.dimensions.continent")}
          value={visitor.continent ?? ""}
          options={["", ...Object.keys(CONTINENTS)].map((value) => ({
            value,
            label: value === "" ? t("rules.try.unknown") : describeActual("continent", value),
          }))}
          onChange={(event) => set("continent", event.target.value)}
        />
        <ListField
          label={t("analytics.dimensions.language")}
          placeholder="de-AT,de;q=0.9"
          text={languages}
          options={optionsOf("language")}
          value={languages}
          onChange={({ target: { value } }) => {
            setLanguages(value);
            set("language", toCodes("language", value).join(","));
          }}
        />
        <TextField
          label={t("analytics.dimensions.referrer")}
          placeholder="https://news.example.com/"
          value={visitor.referrer ?? ""}
          onChange={(event) => set("referrer", event.target.value)}
        />
        <TextField
          label={t("rules.try.query")}
          placeholder="utm_source=mail"
          value={visitor.query ?? ""}
          onChange={(event) => set("query", event.target.value)}
        />
      </div>
    </details>
  );
}

type OutcomeProps = { explanation: Explanation; split: FullLink["split"] };

const Outcome = ({ explanation, split }: OutcomeProps) => {
  const { status, target, rules, requires_password } = explanation;
  return (
    <div className="stack">
      <p className="outcome" role="status">
        {target === null
          ? rich("rules.try.noRedirect", { status: describeStatus(status), strong })
          : rich(requires_password ? "rules.try.redirectsAfterPassword" : "rules.try.redirects", {
              reason: describeTarget(explanation, split),
              url: target.url,
              strong,
            })}
      </p>
      <ol className="explanation" aria-label={t("rules.try.why")}>
        {rules.map(({ id, conditions }, i) => (
          <li key={id}>
            {t("rules.rule", { number: i + 1 })}
            <ul>
              {conditions.map(({ type, matched, actual }, j) => (
                <li key={j} className={matched ? "met" : "unmet"}>
                  {matched ? (
                    <Check aria-label={t("rules.try.met")} />
                  ) : (
                    <X aria-label={t("rules.try.notMet")} />
                  )}
                  {labelOf(type)}:{" "}
                  {actual === "" || actual === null
                    ? t(actual === "" ? "rules.try.none" : "rules.try.unknown")
                    : describeActual(type, actual)}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </div>
  );
};

function describeActual(type: string, actual: string): string {
  if (type !== "schedule") return describeValue(type, actual, statisticsLanguage());
  // A weekday and a time of day, such as `Monday, 09:30`.
  const [weekday, time] = actual.split(", ");
  const day = WEEKDAYS.findIndex((name) => name === weekday);
  return day < 0 ? actual : `${formatWeekday(day, "long")}, ${time}`;
}

/** The API's document has the status as text. */
function describeStatus(status: string): string {
  const known = STATUSES.find((name) => name === status);
  return known === undefined ? status : t(`rules.try.status.${known}`);
}

function labelOf(type: string): string {
  const label = Object.entries(CONDITION_TYPES).find(([name]) => name === type)?.[1].label;
  return label === undefined ? type : t(label);
}

function describeTarget({ target, rules }: Explanation, split: FullLink["split"]): string {
  if (target?.kind === "rule") {
    return t("rules.rule", { number: rules.findIndex(({ id }) => id === target.id) + 1 });
  }
  if (target?.kind !== "arm") return t("rules.try.noRule");
  const arms = split?.arms ?? [];
  const position = arms.findIndex(({ id }) => id === target.id);
  return t("rules.try.split", { version: versionName(arms[position]?.label, position + 1) });
}
