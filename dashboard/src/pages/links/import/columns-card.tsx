/** Assigns a field to each column of an imported file, and sets the options for all rows. */
import { type ReactNode, useId } from "react";

import { readableHost } from "../../../../../shared/contracts/host-names.ts";
import {
  DATE_ORDERS,
  type DateOrder,
  findDateOrder,
  TAG_SEPARATORS,
} from "../../../../../shared/link-csv/cells.ts";
import {
  findField,
  IMPORT_FIELDS,
  type ImportField,
} from "../../../../../shared/link-csv/fields.ts";
import { listDates } from "../../../../../shared/link-csv/row.ts";
import { fieldName } from "../../../languages/errors.ts";
import { findText, t } from "../../../languages/translate.ts";
import { ChoiceField, Select, TagsField } from "../../../ui/field.tsx";
import { Card } from "../../../ui/page.tsx";
import { Alert } from "../../../ui/states.tsx";
import { Table } from "../../../ui/table.tsx";
import { changeTarget, type DomainChoice, type ImportChoices, type PlanInput } from "./plan.ts";
import type { ChosenFile } from "./use-import.ts";

const EXAMPLES_MAX = 2;
/** Rows in which examples are looked for: a column may be empty in most of them. */
const EXAMPLE_ROWS_MAX = 200;

type Changes = Partial<Omit<ChosenFile, "file">>;

type ColumnsProps = {
  chosen: ChosenFile;
  hosts: PlanInput["hosts"];
  onChange: (changes: Changes) => void;
};

export function ColumnsCard({ chosen, hosts, onChange }: ColumnsProps) {
  const { file, mapping } = chosen;
  return (
    <Card title={t("import.columns")}>
      <div className="stack">
        <Table
          label={t("import.columns")}
          names={[
            t("import.heads.column"),
            t("import.heads.firstValues"),
            t("import.heads.importedAs"),
          ]}
          className="import-columns"
        >
          {file.columns.map((name, column) => (
            <ColumnRow
              // Names may repeat.
              key={`${column} ${name}`}
              name={describeColumn(name, column)}
              examples={findExamples(chosen, column)}
              chosen={chosen}
              column={column}
              onSelect={(field) => onChange({ mapping: changeTarget(mapping, column, field) })}
            />
          ))}
        </Table>
        {findField(mapping, "url") < 0 && <Alert>{t("import.noUrl")}</Alert>}
        <OptionFields chosen={chosen} hosts={hosts} onChange={onChange} />
      </div>
    </Card>
  );
}

function findExamples({ file }: ChosenFile, column: number): string[] {
  const texts = new Set<string>();
  for (const { cells } of file.rows.slice(0, EXAMPLE_ROWS_MAX)) {
    const text = cells[column]?.trim() ?? "";
    if (text !== "") texts.add(text);
    if (texts.size === EXAMPLES_MAX) break;
  }
  return [...texts];
}

function ColumnRow({
  name,
  examples,
  chosen: { mapping },
  column,
  onSelect,
}: {
  name: string;
  examples: readonly string[];
  chosen: ChosenFile;
  column: number;
  onSelect: (field: ImportField | undefined) => void;
}) {
  const id = useId();
  const target = mapping[column] ?? { ignored: "unknown" };
  const reason = "ignored" in target ? target.ignored : undefined;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        {examples.map((text) => (
          <span key={text} className="destination">
            {text}
          </span>
        ))}
      </td>
      <td>
        <Select
          aria-label={t("import.options.importedAs", { column: name })}
          {...(reason === undefined ? {} : { "aria-describedby": id })}
          value={"field" in target ? target.field : undefined}
          options={[
            { value: undefined, label: t("import.notImported") },
            ...IMPORT_FIELDS.map((field) => ({ value: field, label: fieldLabel(field) })),
          ]}
          onChoose={onSelect}
        />
        {reason !== undefined && (
          <small id={id} className={reason === "unknown" ? "hint hint-strong" : "hint"}>
            {t(`import.ignored.${reason}`)}
          </small>
        )}
      </td>
    </tr>
  );
}

/** The name of a field; with the form of its cells where that is not plain. */
const fieldLabel = (field: ImportField): string =>
  findText(`import.fields.${field}`) ?? fieldName(field);

function OptionFields({ chosen: { file, mapping, options }, hosts, onChange }: ColumnsProps) {
  const has = (field: ImportField) => findField(mapping, field) >= 0;
  const change = (changes: Partial<ImportChoices>) =>
    onChange({ options: { ...options, ...changes } });
  const chooseOrder = (dateOrder: DateOrder | undefined) => change({ dateOrder });
  const fields: ReactNode[] = [
    <DomainField
      key="domain"
      choice={options.domain}
      hosts={hosts}
      onChange={(domain) => change({ domain })}
    />,
  ];
  if (has("archived") || has("status")) {
    fields.push(
      <ChoiceField
        key="archived"
        label={t("import.options.archived")}
        value={options.archived}
        options={[
          { value: "keep", label: t("import.options.keepArchived") },
          { value: "leave", label: t("import.options.leaveArchived") },
        ]}
        onChoose={(archived) => change({ archived })}
      />,
    );
  }
  if (has("custom_short_url") && (has("short_url") || has("alias"))) {
    fields.push(
      <ChoiceField
        key="back-halves"
        label={t("import.options.backHalves")}
        value={options.backHalves}
        options={[
          { value: "custom", label: t("import.options.customBackHalf") },
          { value: "both", label: t("import.options.bothBackHalves") },
        ]}
        onChoose={(backHalves) => change({ backHalves })}
      />,
    );
  }
  if (has("tags")) {
    fields.push(
      <ChoiceField
        key="separator"
        label={t("import.options.separator")}
        value={options.separator}
        options={TAG_SEPARATORS.map((value) => ({ value, label: describeSeparator(value) }))}
        onChoose={(separator) => change({ separator })}
      />,
    );
  }
  fields.push(
    <TagsField
      key="tags"
      label={t("import.options.tags")}
      text={options.tags}
      value={options.tags}
      onChange={({ target }) => change({ tags: target.value })}
    />,
  );
  if (findDateOrder(listDates(file.rows, mapping)).isAmbiguous) {
    fields.push(<DateOrderField key="dates" value={options.dateOrder} onChoose={chooseOrder} />);
  }
  return <div className="columns">{fields}</div>;
}

type DateOrderFieldProps = {
  value: DateOrder | undefined;
  onChoose: (order: DateOrder | undefined) => void;
};

const DateOrderField = (props: DateOrderFieldProps) => (
  <ChoiceField
    label={t("import.options.dates")}
    hint={t("import.options.datesHint")}
    options={[
      { value: undefined, label: t("import.options.chooseDates") },
      ...DATE_ORDERS.map((value) => ({ value, label: t(`import.options.dateOrders.${value}`) })),
    ]}
    {...props}
  />
);

type DomainFieldProps = {
  choice: DomainChoice;
  hosts: PlanInput["hosts"];
  onChange: (choice: DomainChoice) => void;
};

const DomainField = ({ choice, hosts, onChange }: DomainFieldProps) => (
  <ChoiceField
    label={t("import.options.domain")}
    hint={t("import.options.domainHint")}
    // The service's own domain is "".
    value={"from" in choice ? "*" : choice.domain}
    options={[
      { value: "*", label: t("import.fromFile") },
      { value: "", label: hosts.own },
      ...[...hosts.domains].map((domain) => ({ value: domain, label: readableHost(domain) })),
    ]}
    onChoose={(domain) => onChange(domain === "*" ? { from: "file" } : { domain })}
  />
);

/** The name of a column; its number if it has none. */
const describeColumn = (name: string, column: number): string =>
  name === "" ? t("import.columnWithoutName", { number: column + 1 }) : name;

/** The names of what separates cells, or tags in a cell. */
export const DELIMITERS = {
  ",": "import.delimiters.commas",
  ";": "import.delimiters.semicolons",
  "\t": "import.delimiters.tabs",
  "|": "import.delimiters.bars",
} as const;

export type Delimiter = keyof typeof DELIMITERS;

function describeSeparator(separator: Delimiter): string {
  const name = t(DELIMITERS[separator]);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
