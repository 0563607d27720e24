/** Selects the period, the time zone and the comparison of a view. */
import { type FormEvent, memo, type ReactNode, useMemo, useState } from "react";

import { PERIODS } from "../../../../shared/contracts/analytics.ts";
import { t } from "../../languages/translate.ts";
import { Button, SegmentedControl } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { listTimeZones } from "../../ui/local-time.ts";
import { updateSearch } from "../../ui/search-state.ts";
import {
  CALENDAR_NAMES,
  COMPARISONS,
  isCalendarPeriod,
  PERIOD_NAMES,
  type Range,
} from "./analytics-path.ts";
import { useAnalyticsQuery } from "./analytics-query.ts";

export function PeriodBar({
  comparable = true,
  children,
}: {
  comparable?: boolean;
  /** Shown beside the period. */
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
        <select
          aria-label={t("analytics.period.compareWith")}
          value={compare}
          onChange={(event) => updateSearch({ compare: event.target.value })}
        >
          {Object.entries(COMPARISONS).map(([name, label]) => (
            <option key={name} value={name}>
              {t(label)}
            </option>
          ))}
        </select>
      )}
      {children}
      {custom && <CustomDates key={`${range.start} ${range.end}`} range={range} />}
    </div>
  );
}

const periodNames = (): Record<string, string> =>
  Object.fromEntries(PERIODS.map((period) => [period, t(PERIOD_NAMES[period])]));

type SelectProps = { value: string; onChange: (value: string) => void };

/** Selects a period of the calendar; shows none for another period. */
const CalendarSelect = ({ value, onChange }: SelectProps) => (
  <select
    aria-label={t("analytics.period.calendarLabel")}
    value={isCalendarPeriod(value) ? value : ""}
    onChange={(event) => onChange(event.target.value)}
  >
    <option value="" disabled>
      {t("analytics.period.calendar")}
    </option>
    {Object.entries(CALENDAR_NAMES).map(([name, label]) => (
      <option key={name} value={name}>
        {t(label)}
      </option>
    ))}
  </select>
);

const setTimeZone = (timezone: string): void => updateSearch({ timezone });

/** Has hundreds of options, which it renders only when the time zone changes. */
const TimeZoneSelect = memo(function TimeZoneSelect({ value, onChange }: SelectProps) {
  const zones = useMemo(() => listTimeZones(value), [value]);
  return (
    <select
      aria-label={t("analytics.period.timeZone")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {zones.map((zone) => (
        <option key={zone}>{zone}</option>
      ))}
    </select>
  );
});

function CustomDates({ range }: { range: Range }) {
  const [start, setStart] = useState(range.start);
  const [end, setEnd] = useState(range.end);
  const invalid = start !== "" && end !== "" && start > end;
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!invalid) updateSearch({ period: undefined, start, end });
  }
  return (
    <form className="custom-dates" onSubmit={submit}>
      <TextField
        label={t("analytics.period.from")}
        type="date"
        required
        value={start}
        onChange={(event) => setStart(event.target.value)}
        error={invalid ? t("analytics.period.wrongOrder") : undefined}
      />
      <TextField
        label={t("analytics.period.to")}
        type="date"
        required
        value={end}
        onChange={(event) => setEnd(event.target.value)}
      />
      <Button type="submit" variant="primary">
        {t("analytics.period.show")}
      </Button>
    </form>
  );
}
