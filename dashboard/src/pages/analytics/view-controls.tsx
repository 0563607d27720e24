/** What chooses the clicks of a view: the period, the time zone, the comparison and the filters. */
import { Plus, X } from "lucide-react";
import { type FormEvent, memo, type ReactNode, useDeferredValue, useMemo, useState } from "react";

import { IMPORTED, PERIODS, TRIGGERS } from "../../../../shared/contracts/analytics.ts";
import { CONTINENTS, describeValue } from "../../../../shared/statistics/values.ts";
import { useTags } from "../../data/account-lists.ts";
import { optionsOf, toCodes } from "../../data/named-values.ts";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { Button, IconButton, SegmentedControl } from "../../ui/button.tsx";
import { ChoiceField, ListField, Select, TextField } from "../../ui/field.tsx";
import { listTimeZones } from "../../ui/local-time.ts";
import { PanelButton } from "../../ui/menu.tsx";
import { updateSearch } from "../../ui/search-state.ts";
import {
  addFilters,
  CALENDAR_PERIODS,
  COMPARISONS,
  type Filter,
  FILTER_NAMES,
  type FilterName,
  isCalendarPeriod,
  type Range,
} from "./analytics-path.ts";
import { filterLabel, setFilters, useAnalyticsQuery } from "./analytics-query.ts";

export function PeriodBar({
  comparable = true,
  children,
}: {
  comparable?: boolean;
  children?: ReactNode;
}) {
  const { range, compare } = useAnalyticsQuery();
  const [opened, setOpened] = useState(false);
  const custom = opened || range.period === "custom";
  const show = (period: string): void => {
    setOpened(false);
    updateSearch({ period, start: undefined, end: undefined });
  };
  return (
    <div className="period-bar">
      <SegmentedControl
        label={t("analytics.period.title")}
        isSmall={false}
        options={{ ...periodNames(), custom: t("analytics.period.custom") }}
        selected={custom ? "custom" : range.period}
        onSelect={(period) => (period === "custom" ? setOpened(true) : show(period))}
      />
      <CalendarSelect value={custom ? "" : range.period} onChange={show} />
      <TimeZoneSelect value={range.timezone} onChange={setTimeZone} />
      {comparable && range.period !== "all" && (
        <Select
          aria-label={t("analytics.period.compareWith")}
          value={compare}
          options={COMPARISONS.map((value) => ({ value, label: t(`analytics.period.${value}`) }))}
          onChoose={(chosen) => updateSearch({ compare: chosen })}
        />
      )}
      {children}
      {custom && <CustomDates key={`${range.start} ${range.end}`} range={range} />}
    </div>
  );
}

const periodNames = (): Record<string, string> =>
  Object.fromEntries(PERIODS.map((period) => [period, t(`analytics.period.${period}`)]));

type SelectProps = { value: string; onChange: (value: string) => void };

/** Selects a period of the calendar; shows none for another period. */
const CalendarSelect = ({ value, onChange }: SelectProps) => (
  <Select
    aria-label={t("analytics.period.calendarLabel")}
    value={isCalendarPeriod(value) ? value : ""}
    options={[
      { value: "", label: t("analytics.period.calendar") },
      ...CALENDAR_PERIODS.map((name) => ({ value: name, label: t(`analytics.period.${name}`) })),
    ]}
    onChoose={onChange}
  />
);

const setTimeZone = (timezone: string): void => updateSearch({ timezone });

/** Has hundreds of options: they follow the first rendering, and the changes of the time zone. */
const TimeZoneSelect = memo(function TimeZoneSelect({ value, onChange }: SelectProps) {
  const all = useDeferredValue(true, false);
  const zones = useMemo(() => (all ? listTimeZones(value) : [value]), [all, value]);
  return (
    <Select
      aria-label={t("analytics.period.timeZone")}
      value={value}
      options={zones.map((zone) => ({ value: zone, label: zone }))}
      onChoose={onChange}
    />
  );
});

function CustomDates({ range }: { range: Range }) {
  const [start, setStart] = useState(range.start);
  const [end, setEnd] = useState(range.end);
  const wrongOrder = start > end ? t("analytics.period.wrongOrder") : undefined;
  const startError = start === "" ? t("ui.required") : wrongOrder;
  const endError = end === "" ? t("ui.required") : undefined;
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (startError === undefined && endError === undefined)
      updateSearch({ period: undefined, start, end });
  }
  return (
    <form className="custom-dates" noValidate onSubmit={submit}>
      <TextField
        label={t("analytics.period.from")}
        type="date"
        aria-required
        value={start}
        onChange={(event) => setStart(event.target.value)}
        error={startError}
      />
      <TextField
        label={t("analytics.period.to")}
        type="date"
        aria-required
        value={end}
        onChange={(event) => setEnd(event.target.value)}
        error={endError}
      />
      <Button type="submit" variant="primary">
        {t("analytics.period.show")}
      </Button>
    </form>
  );
}

/** The filters of the view as chips, which can be reversed and removed, and a form for another. */
export function FilterBar() {
  const { filters } = useAnalyticsQuery();
  const replace = (old: Filter, ...next: Filter[]) =>
    setFilters(filters.flatMap((filter) => (filter === old ? next : [filter])));
  return (
    <div className="filter-bar" role="group" aria-label={t("analytics.filters.title")}>
      {filters.map((filter) => {
        const { name, negated } = filter;
        const label = filterLabel(name);
        const operator = negated ? t("analytics.filters.isNot") : t("analytics.filters.is");
        const value = describeValue(name, filter.value, statisticsLanguage());
        return (
          <span key={`${name} ${negated} ${filter.value}`} className="chip">
            {label}
            <button
              type="button"
              className="chip-operator"
              aria-label={t("analytics.filters.reverse", { name: label, operator, value })}
              onClick={() => replace(filter, { ...filter, negated: !negated })}
            >
              {operator}
            </button>
            <strong>{value}</strong>
            <IconButton
              label={t("analytics.filters.remove", { name: label, value })}
              onClick={() => replace(filter)}
            >
              <X aria-hidden />
            </IconButton>
          </span>
        );
      })}
      <PanelButton label={t("analytics.filters.add")} icon={<Plus aria-hidden />}>
        {(close) => <FilterFields onDone={close} />}
      </PanelButton>
      {filters.length > 1 && (
        <Button variant="quiet" onClick={() => setFilters([])}>
          {t("analytics.filters.clear")}
        </Button>
      )}
    </div>
  );
}

/** Filters with few values, which are chosen. */
const CHOICES: Partial<Record<FilterName, readonly string[]>> = {
  device: ["mobile", "desktop", "tablet", "other"],
  continent: Object.keys(CONTINENTS),
  class: ["human", "bot", "prefetch"],
  trigger: TRIGGERS,
  imported: IMPORTED,
};

/** Filters that choose links, not clicks. */
const OF_LINKS: ReadonlySet<FilterName> = new Set(["tag", "domain"]);

function FilterFields({ onDone }: { onDone: () => void }) {
  const { filters, link } = useAnalyticsQuery();
  // A single link has its tags and its domain.
  const names = FILTER_NAMES.filter((each) => link === undefined || !OF_LINKS.has(each));
  const [name, setName] = useState<FilterName>("country");
  const [negated, setNegated] = useState(false);
  const [text, setText] = useState("");
  const values = CHOICES[name] === undefined ? toCodes(name, text) : [text].filter(Boolean);
  function submit(event: FormEvent): void {
    event.preventDefault();
    setFilters(
      addFilters(
        filters,
        values.map((value) => ({ name, value, negated })),
      ),
    );
    onDone();
  }
  return (
    <form className="stack" onSubmit={submit}>
      <ChoiceField
        label={t("analytics.filters.by")}
        value={name}
        options={names.map((value) => ({ value, label: filterLabel(value) }))}
        onChoose={(chosen) => {
          setName(chosen);
          setText("");
        }}
      />
      <ChoiceField
        label={t("analytics.filters.matches")}
        value={negated}
        options={[
          { value: false, label: t("analytics.filters.is") },
          { value: true, label: t("analytics.filters.isNot") },
        ]}
        onChoose={setNegated}
      />
      <ValuesField name={name} text={text} onChange={setText} />
      <Button type="submit" variant="primary" disabled={values.length === 0}>
        {t("analytics.filters.apply")}
      </Button>
    </form>
  );
}

type ValuesFieldProps = { name: FilterName; text: string; onChange: (text: string) => void };

function ValuesField({ name, text, onChange }: ValuesFieldProps) {
  const tags = useTags();
  const choices = CHOICES[name];
  if (choices !== undefined) {
    return (
      <ChoiceField
        label={t("domains.value")}
        value={text}
        options={[
          { value: "", label: "–" },
          ...choices.map((value) => ({
            value,
            label: describeValue(name, value, statisticsLanguage()),
          })),
        ]}
        onChoose={onChange}
      />
    );
  }
  return (
    <ListField
      label={t("analytics.filters.values")}
      hint={t("links.form.tagsHint")}
      text={text}
      options={name === "tag" ? tags.map((tag) => ({ name: tag.name })) : optionsOf(name)}
      value={text}
      autoCapitalize="none"
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
