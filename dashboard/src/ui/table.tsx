/** Tables that scroll within their container, also by keyboard; and the pages of long ones. */
import { ChevronLeft, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { useHistoryState } from "wouter/use-browser-location";

import { t } from "../languages/translate.ts";
import { IconButton } from "./button.tsx";
import { useSearchState } from "./search-state.ts";

/** A column of rows: its name, and what its cells show. */
export type Column<Row> = {
  name: string;
  cell: (row: Row) => ReactNode;
  className?: string;
  /** Where the cells of a row stand below one another, this one says its name. */
  isNamed?: true;
};

/** A column of numbers. */
export const numberColumn = <Row,>(name: string, cell: (row: Row) => ReactNode): Column<Row> => ({
  name,
  className: "number",
  isNamed: true,
  cell,
});

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
  tall?: boolean;
}) => (
  <Table
    label={label}
    className={className}
    tall={tall}
    names={columns.map(({ name }) => name)}
    hasActions={actions !== undefined}
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
  hasActions = false,
  headRow = (
    <tr>
      {names.map((name) => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
      {hasActions && (
        <th scope="col">
          <span className="visually-hidden">{t("ui.actions")}</span>
        </th>
      )}
    </tr>
  ),
  children,
  className = "",
  tall = false,
}: {
  label: string;
  names?: readonly string[];
  /** Whether the last column, of a row's actions, has a name for screen readers only. */
  hasActions?: boolean;
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

/** Moves between the pages of a list by cursor; renders nothing for a single page. */
export function Pager({ pages, next }: { pages: CursorPages; next: string | null }) {
  const { after, page, goForward, goBack } = pages;
  if (after === "" && next === null) return null;
  return (
    <nav className="pager" aria-label={t("ui.pager.label")}>
      <IconButton
        label={page === undefined ? t("ui.pager.first") : t("ui.pager.previous")}
        disabled={after === ""}
        onClick={goBack}
      >
        <ChevronLeft aria-hidden />
      </IconButton>
      {page !== undefined && <span>{t("ui.pager.page", { page })}</span>}
      <IconButton
        label={t("ui.pager.next")}
        disabled={next === null}
        onClick={() => goForward(next ?? "")}
      >
        <ChevronRight aria-hidden />
      </IconButton>
    </nav>
  );
}

/**
 * Pages of a list by cursor. The URL contains the cursor; the browser's history contains those of
 * earlier pages.
 */
export type CursorPages = {
  /** Where the page starts; "" for the start of the list. */
  after: string;
  /** The page number, if the user has come from the first page. */
  page: number | undefined;
  goForward: (next: string) => void;
  /** Goes to the previous page, or to the first if the previous one is unknown. */
  goBack: () => void;
};

export function useCursorPages(): CursorPages {
  const [params, setParams] = useSearchState();
  const after = params.get("after") ?? "";
  const state = useHistoryState<unknown>();
  const earlier = after === "" ? [] : readEarlier(state);
  return {
    after,
    page: earlier === undefined ? undefined : earlier.length + 1,
    goForward: (next) =>
      setParams(
        { after: next },
        { state: earlier === undefined ? null : { earlier: [...earlier, after] } },
      ),
    goBack: () =>
      setParams({ after: earlier?.at(-1) }, { state: { earlier: earlier?.slice(0, -1) ?? [] } }),
  };
}

/** Reads the cursors of the previous pages, the first one first. */
function readEarlier(state: unknown): string[] | undefined {
  if (typeof state !== "object" || state === null || !("earlier" in state)) return undefined;
  const { earlier } = state;
  return Array.isArray(earlier) ? earlier.map(String) : undefined;
}
