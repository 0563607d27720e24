/** Choosing the time and the zone of a view. */
import { type FormEvent, useMemo, useState } from "react";

import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { useParams } from "../../ui/params.ts";
import { PERIOD_NAMES, PERIODS, type Range } from "./range.ts";

export function PeriodBar({ range }: { range: Range }) {
  const [, setParams] = useParams();
  const [choosing, setChoosing] = useState(range.period === "custom");
  const zones = useMemo(() => {
    const known = Intl.supportedValuesOf("timeZone");
    return [...new Set(["UTC", range.timezone, ...known])];
  }, [range.timezone]);
  return (
    <div className="period-bar">
      <div className="segments" role="group" aria-label="Period">
        {PERIODS.map((period) => (
          <button
            key={period}
            type="button"
            aria-pressed={!choosing && range.period === period}
            onClick={() => {
              setChoosing(false);
              setParams({ period, start: undefined, end: undefined });
            }}
          >
            {PERIOD_NAMES[period]}
          </button>
        ))}
        <button type="button" aria-pressed={choosing} onClick={() => setChoosing(true)}>
          Custom
        </button>
      </div>
      <select
        aria-label="Time zone"
        value={range.timezone}
        onChange={(event) => setParams({ timezone: event.target.value })}
      >
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </select>
      {choosing && <CustomDates range={range} />}
    </div>
  );
}

function CustomDates({ range }: { range: Range }) {
  const [, setParams] = useParams();
  const [start, setStart] = useState(range.start);
  const [end, setEnd] = useState(range.end);
  const wrong = start !== "" && end !== "" && start > end;
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!wrong) setParams({ period: undefined, start, end });
  }
  return (
    <form className="custom-dates" onSubmit={submit}>
      <TextField
        label="From"
        type="date"
        required
        value={start}
        onChange={(event) => setStart(event.target.value)}
        problem={wrong ? "Must be before the end" : undefined}
      />
      <TextField
        label="To"
        type="date"
        required
        value={end}
        onChange={(event) => setEnd(event.target.value)}
      />
      <Button type="submit" look="primary">
        Show
      </Button>
    </form>
  );
}
