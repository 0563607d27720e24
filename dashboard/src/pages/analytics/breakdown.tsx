/** Clicks by one of their properties: the most frequent values, each with its share. */
import { Download } from "lucide-react";
import type { ReactNode } from "react";

import { messageOf } from "../../data/errors.ts";
import { downloadCsv } from "../../data/http.ts";
import { IconButton } from "../../ui/button.tsx";
import { count, percent } from "../../ui/format.ts";
import { toast } from "../../ui/toast.tsx";

export type Part = { name: string; note?: string; clicks: number; percentage: number };

export function Parts({ parts, label }: { parts: readonly Part[]; label: string }) {
  if (parts.length === 0) return <p className="nothing">No clicks in this time.</p>;
  return (
    <ol className="parts" aria-label={label}>
      {parts.map(({ name, note, clicks, percentage }) => (
        <li key={`${name} ${note ?? ""}`}>
          <span
            className="part-bar"
            style={{ width: `${Math.min(100, percentage)}%` }}
            aria-hidden
          />
          <span className="part-name">
            {name === "" ? "Unknown" : name}
            {note !== undefined && note !== "" && <small className="hint"> {note}</small>}
          </span>
          <span className="part-clicks">{count(clicks)}</span>
          <span className="part-share">{percent(percentage)}</span>
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
          toast(messageOf(error), "failed"),
        )
      }
    >
      <Download aria-hidden />
    </IconButton>
  );
}

type TabsProps<Name extends string> = {
  label: string;
  names: Readonly<Record<Name, string>>;
  chosen: Name;
  onChoose: (name: Name) => void;
  children?: ReactNode;
};

/** Which of a few kinds is shown. */
export function Choice<Name extends string>({ label, names, chosen, onChoose }: TabsProps<Name>) {
  return (
    <div className="segments segments-small" role="group" aria-label={label}>
      {(Object.keys(names) as Name[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          {names[name]}
        </button>
      ))}
    </div>
  );
}
