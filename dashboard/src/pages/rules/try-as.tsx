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
import { codesOf, optionsOf, toAcceptLanguage } from "../../data/named-values.ts";
import { useApiQuery } from "../../data/session.ts";
import { findText, rich, statisticsLanguage, strong, t } from "../../languages/translate.ts";
import { ChoiceField, ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formatWeekday } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { Card } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { CONDITION_TYPES } from "./condition-fields.tsx";
import { versionName } from "./split-editor.tsx";

type Visitor = Body<"explainLink">;
type Explanation = ResponseBody<"explainLink">;

const DEVICES = {
  iphone:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
  android:
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
  ipad: "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1",
  windows:
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
  mac: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
  linux: "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
} as const;

// Object.keys loses the type of the keys.
const DEVICE_NAMES = Object.keys(DEVICES) as (keyof typeof DEVICES)[];

export function TryAs({ link, dirty }: { link: FullLink; dirty: boolean }) {
  const [visitor, setVisitor] = useState<Visitor>({ user_agent: DEVICES.iphone });
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
  const device = DEVICE_NAMES.find((name) => DEVICES[name] === visitor.user_agent);
  /** Sets a field, or removes it from the request. */
  const set = (name: keyof Visitor, value: string) => {
    const { [name]: _old, ...others } = visitor;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  return (
    <>
      <div className="columns">
        <ChoiceField
          label={t("fields.device")}
          value={device}
          options={DEVICE_NAMES.map((value) => ({ value, label: t(`rules.try.devices.${value}`) }))}
          onChoose={(name) => set("user_agent", name === undefined ? "" : DEVICES[name])}
        />
        <SelectField
          label={t("fields.country")}
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

function MoreFields({ visitor, set }: MoreFieldsProps) {
  /** As typed: by name, by code, or as a browser sends them. */
  const [languages, setLanguages] = useState("");
  return (
    <details>
      <summary>{t("rules.try.more")}</summary>
      <div className="stack">
        <SelectField
          label={t("fields.continent")}
          value={visitor.continent ?? ""}
          options={["", ...Object.keys(CONTINENTS)].map((value) => ({
            value,
            label: value === "" ? t("rules.try.unknown") : describeActual("continent", value),
          }))}
          onChange={(event) => set("continent", event.target.value)}
        />
        <ListField
          label={t("fields.language")}
          placeholder="de-AT,de;q=0.9"
          text={languages}
          options={optionsOf("language")}
          value={languages}
          onChange={({ target: { value } }) => {
            setLanguages(value);
            set("language", toAcceptLanguage(value));
          }}
        />
        <TextField
          label={t("fields.referrer")}
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
          ? rich("rules.try.noRedirect", {
              status: findText(`rules.try.status.${status}`) ?? status,
              strong,
            })
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
