/** Lists of the most frequent values of a click property, with clicks and share. */
import { Download } from "lucide-react";

import { getErrorMessage } from "../../data/errors.ts";
import { downloadCsv } from "../../data/http.ts";
import { IconButton } from "../../ui/button.tsx";
import { formatCount, formatPercent } from "../../ui/format.ts";
import { toast } from "../../ui/toast.tsx";

export type BreakdownItem = { name: string; note?: string; clicks: number; percentage: number };

export function BreakdownList({
  items,
  label,
}: {
  items: readonly BreakdownItem[];
  label: string;
}) {
  if (items.length === 0) return <p className="no-data">No clicks in this period.</p>;
  return (
    <ol className="breakdown" aria-label={label}>
      {items.map(({ name, note, clicks, percentage }) => (
        <li key={`${name} ${note ?? ""}`}>
          <span
            className="breakdown-bar"
            style={{ width: `${Math.min(100, percentage)}%` }}
            aria-hidden
          />
          <span className="breakdown-name">
            {name === "" ? "Unknown" : name}
            {note !== undefined && note !== "" && <small className="hint"> {note}</small>}
          </span>
          <span className="breakdown-clicks">{formatCount(clicks)}</span>
          <span className="breakdown-share">{formatPercent(percentage)}</span>
        </li>
      ))}
    </ol>
  );
}

export function CsvButton({ path, name }: { path: string; name: string }) {
  return (
    <IconButton
      label={`Download ${name} as CSV`}
      onClick={() =>
        void downloadCsv(path, `${name}.csv`).catch((error: unknown) =>
          toast(getErrorMessage(error), "error"),
        )
      }
    >
      <Download aria-hidden />
    </IconButton>
  );
}

type SegmentedControlProps<Name extends string> = {
  label: string;
  /** Labels of the options, by name. */
  options: Readonly<Record<Name, string>>;
  selected: Name;
  onSelect: (name: Name) => void;
};

/** Selects one of a few options. */
export function SegmentedControl<Name extends string>({
  label,
  options,
  selected,
  onSelect,
}: SegmentedControlProps<Name>) {
  return (
    <div className="segmented segmented-small" role="group" aria-label={label}>
      {(Object.keys(options) as Name[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === selected}
          onClick={() => onSelect(name)}
        >
          {options[name]}
        </button>
      ))}
    </div>
  );
}
