/** Tables that scroll within their container, also by keyboard. */
import type { ReactNode } from "react";

import { t } from "../languages/translate.ts";

/** A column of rows: its name, and what its cells show. */
export type Column<Row> = {
  name: string;
  cell: (row: Row) => ReactNode;
  className?: string;
  /** Where the cells of a row stand below one another, this one says its name. */
  isNamed?: true;
};

/** A table of rows, whose cells stand below one another on a phone. */
export const RowTable = <Row,>({
  label,
  rows,
  keyOf,
  columns,
  actions,
  className = "stacked",
  tall = false,
}: {
  /** Caption, for screen readers. */
  label: string;
  rows: readonly Row[];
  keyOf: (row: Row, index: number) => string | number;
  columns: readonly Column<NoInfer<Row>>[];
  /** The actions of a row, at its end. */
  actions?: ((row: NoInfer<Row>) => ReactNode) | undefined;
  className?: string;
  /** Limits the height. */
  tall?: boolean;
}) => (
  <Table
    label={label}
    className={className}
    tall={tall}
    headRow={
      <tr>
        {columns.map(({ name }) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
        {actions !== undefined && (
          <th scope="col">
            <span className="visually-hidden">{t("ui.actions")}</span>
          </th>
        )}
      </tr>
    }
  >
    {rows.map((row, index) => (
      <tr key={keyOf(row, index)}>
        {columns.map(({ name, cell, className, isNamed }) => (
          <td key={name} className={className} data-label={isNamed === true ? name : undefined}>
            {cell(row)}
          </td>
        ))}
        {actions !== undefined && <td className="row-actions">{actions(row)}</td>}
      </tr>
    ))}
  </Table>
);

/** A table whose rows, and head unless it only has names, are given as they are. */
export const Table = ({
  label,
  names = [],
  headRow = (
    <tr>
      {names.map((name) => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
    </tr>
  ),
  children,
  className = "",
  tall = false,
}: {
  label: string;
  names?: readonly string[];
  headRow?: ReactNode;
  children: ReactNode;
  className?: string;
  tall?: boolean;
}) => (
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
