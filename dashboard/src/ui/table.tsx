/** A table that scrolls within its container, also by keyboard. */
import type { ReactNode } from "react";

import { t } from "../languages/translate.ts";

type Column = { name: string; hidden?: true };

export function Table({
  label,
  head = [],
  headRow = <HeadRow columns={head} />,
  children,
  className = "",
  tall = false,
}: {
  /** Caption, for screen readers. */
  label: string;
  /** Names of the columns. */
  head?: readonly (string | Column)[];
  /** Replaces `head`, e.g. for sortable columns. */
  headRow?: ReactNode;
  /** The rows. */
  children: ReactNode;
  className?: string;
  /** Limits the height. */
  tall?: boolean;
}) {
  return (
    <div
      className={tall ? "table-scroll table-tall" : "table-scroll"}
      tabIndex={0}
      role="region"
      aria-label={t("ui.scrollable", { table: label })}
    >
      <table className={className}>
        <caption className="visually-hidden">{label}</caption>
        <thead>{headRow}</thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

const HeadRow = ({ columns }: { columns: readonly (string | Column)[] }) => (
  <tr>
    {columns.map((column) => {
      const { name, hidden } = typeof column === "string" ? { name: column } : column;
      return (
        <th key={name} scope="col">
          {hidden === true ? <span className="visually-hidden">{name}</span> : name}
        </th>
      );
    })}
  </tr>
);

/** The heading of a column of actions, visible only to screen readers. */
export const actionsColumn = (): Column => ({ name: t("ui.actions"), hidden: true });
