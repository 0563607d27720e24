/** A table that scrolls within its place where it is too wide or too long, by keys too. */
import type { ReactNode } from "react";

type Column = { name: string; hidden?: true };

export function Table({
  label,
  head = [],
  headRow = <HeadRow columns={head} />,
  children,
  className = "",
  tall = false,
}: {
  /** What the table holds. */
  label: string;
  /** The headings' names; or a whole row of them, where they do something. */
  head?: readonly (string | Column)[];
  headRow?: ReactNode;
  /** The rows. */
  children: ReactNode;
  className?: string;
  /** It may be longer than there is room for. */
  tall?: boolean;
}) {
  return (
    <div
      className={tall ? "table-scroll table-tall" : "table-scroll"}
      tabIndex={0}
      role="region"
      aria-label={`${label}, scrollable`}
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

/** The heading of what is done to a row. */
export const ACTIONS: Column = { name: "Actions", hidden: true };
