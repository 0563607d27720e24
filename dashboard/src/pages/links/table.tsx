/** The table of links. Each row has a menu of actions. */
import {
  Archive,
  ArchiveRestore,
  ArrowDown,
  ArrowUp,
  ChartSpline,
  CircleCheck,
  CircleOff,
  Copy,
  Pencil,
  QrCode,
  Split,
  Trash2,
} from "lucide-react";
import { memo } from "react";
import { Link as PageLink, useLocation } from "wouter";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { readableUrl, withReadableHost } from "../../../../shared/contracts/host-names.ts";
import { type TagClass, useTagClass } from "../../data/account-lists.ts";
import { useCommands } from "../../data/commands.ts";
import { useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { CopyButton } from "../../ui/button.tsx";
import { formatAge, formatCount, formatDate, formatDateTime } from "../../ui/format.ts";
import { type Action, ActionMenu } from "../../ui/menu.tsx";
import { Table } from "../../ui/table.tsx";
import type { BulkVerb } from "./bulk-task.tsx";
import { DeleteDialog, EditDialog, type LinkDialog, QrDialog } from "./lazy-dialogs.tsx";
import type { Order, Sort } from "./list-query.ts";
import { StateBadges } from "./state.tsx";

type RowsProps = RowActions & {
  /** When the links were fetched, in Unix milliseconds. */
  fetchedAt: number;
  onSelect: (link: Link, on: boolean) => void;
  onTag: (tag: string) => void;
};

type LinkTableProps = RowsProps & {
  links: readonly Link[];
  selected: readonly Link[];
  sort: Sort;
  order: Order;
  onSort: (sort: Sort, order: Order) => void;
};

export function LinkTable({ links, selected, sort, order, onSort, ...rest }: LinkTableProps) {
  const tagClass = useTagClass();
  const heading = (name: Sort, label: string) => (
    <SortHeading
      label={label}
      {...(sort === name ? { order } : {})}
      onSort={() => onSort(name, sort === name && order === "desc" ? "asc" : "desc")}
    />
  );
  return (
    <Table
      label={t("shell.pages.links")}
      className="links"
      headRow={
        <tr>
          <th scope="col">
            <span className="visually-hidden">{t("links.table.selection")}</span>
          </th>
          <th scope="col">{t("fields.link")}</th>
          {heading("clicks", t("statistics.clicks"))}
          {heading("last_click_at", t("links.table.lastClick"))}
          {heading("created_at", t("links.table.created"))}
          <th scope="col">
            <span className="visually-hidden">{t("ui.actions")}</span>
          </th>
        </tr>
      }
    >
      {links.map((link) => (
        <LinkRow
          key={link.id}
          link={link}
          isSelected={selected.includes(link)}
          tagClass={tagClass}
          {...rest}
        />
      ))}
    </Table>
  );
}

const SortHeading = ({
  label,
  order,
  onSort,
}: {
  label: string;
  order?: Order;
  onSort: () => void;
}) => (
  <th
    scope="col"
    {...(order === undefined ? {} : { "aria-sort": order === "asc" ? "ascending" : "descending" })}
  >
    <button type="button" className="sort" onClick={onSort}>
      {label}
      {order === "asc" && <ArrowUp aria-hidden />}
      {order === "desc" && <ArrowDown aria-hidden />}
    </button>
  </th>
);

type LinkRowProps = RowsProps & { link: Link; isSelected: boolean; tagClass: TagClass };

/** Renders again only when its link or selection has changed: its handlers stay the same. */
const LinkRow = memo(function LinkRow(props: LinkRowProps) {
  const { link, fetchedAt, isSelected, tagClass, onSelect, onTag, onDialog, onChange } = props;
  const short = readableUrl(link.short_url);
  return (
    <tr {...(isSelected ? { className: "selected" } : {})}>
      <td className="row-select">
        <label className="check">
          <input
            type="checkbox"
            aria-label={t("links.table.select", { url: short })}
            checked={isSelected}
            onChange={({ target }) => onSelect(link, target.checked)}
          />
        </label>
      </td>
      <td className="link-cell">
        <div className="link-line">
          <PageLink href={`/links/${link.id}`} className="short-url">
            {short}
          </PageLink>
          <CopyButton text={link.short_url} label={t("links.table.copy", { url: short })} />
          <StateBadges link={link} />
          <RowTags tags={link.tags} tagClass={tagClass} onTag={onTag} />
        </div>
        {link.status === "taken_down" && <p className="taken-down">{t("links.table.takenDown")}</p>}
        <div className="link-about" title={link.original_url}>
          {link.title !== null && <span className="link-title">{link.title}</span>}
          <span className="destination">{withReadableHost(link.original_url)}</span>
        </div>
      </td>
      <td className="number" data-unit={t("links.table.unit", { count: link.clicks })}>
        <PageLink href={`/links/${link.id}`}>{formatCount(link.clicks)}</PageLink>
      </td>
      <LastClick at={link.last_click_at} now={fetchedAt} />
      <td className="when" title={formatDateTime(link.created_at)}>
        {formatDate(link.created_at)}
      </td>
      <td className="row-actions">
        <RowMenu
          link={link}
          label={t("links.table.actions", { url: short })}
          onDialog={onDialog}
          onChange={onChange}
        />
      </td>
    </tr>
  );
});

const LastClick = ({ at, now }: { at: string | null; now: number }) =>
  at === null ? (
    <td className="last-click never">{t("ui.never")}</td>
  ) : (
    <td className="last-click" title={formatDateTime(at)}>
      {formatAge(at, now)}
    </td>
  );

/** Maximum tags in a row; a badge counts the others, and its tooltip lists them. */
const TAGS_SHOWN_MAX = 3;

type RowTagsProps = { tags: readonly string[]; tagClass: TagClass; onTag: (tag: string) => void };

function RowTags({ tags, tagClass, onTag }: RowTagsProps) {
  const others = tags.slice(TAGS_SHOWN_MAX);
  if (tags.length === 0) return null;
  return (
    <span className="tags">
      {tags.slice(0, TAGS_SHOWN_MAX).map((tag) => (
        <button key={tag} type="button" className={tagClass(tag)} onClick={() => onTag(tag)}>
          {tag}
        </button>
      ))}
      {others.length > 0 && (
        <span className="badge" title={others.join(", ")}>
          +{others.length}
        </span>
      )}
    </span>
  );
}

type RowActions = {
  onDialog: (dialog: LinkDialog, link: Link) => void;
  onChange: (link: Link, change: LinkChange, verb: BulkVerb) => void;
};

type RowMenuProps = RowActions & { link: Link; label: string };

function RowMenu({ link, label, onDialog, onChange }: RowMenuProps) {
  const canWrite = useCanWrite();
  const { createLink } = useCommands();
  const [, navigate] = useLocation();
  const { id, archived = false, disabled = false } = link;
  const readActions: Action[] = [
    {
      label: "shell.pages.analytics",
      icon: ChartSpline,
      onSelect: () => navigate(`/links/${id}`),
    },
    { label: "links.actions.rules", icon: Split, onSelect: () => navigate(`/links/${id}/rules`) },
    { label: "links.qr.title", icon: QrCode, onSelect: () => onDialog(QrDialog, link) },
  ];
  const writeActions: Action[] = [
    { label: "links.actions.edit", icon: Pencil, onSelect: () => onDialog(EditDialog, link) },
    { label: "links.actions.duplicate", icon: Copy, onSelect: () => createLink({ copyOf: id }) },
    {
      label: archived ? "links.actions.unarchive" : "links.actions.archive",
      icon: archived ? ArchiveRestore : Archive,
      onSelect: () => onChange(link, { archived: !archived }, archived ? "unarchived" : "archived"),
    },
    {
      label: disabled ? "links.actions.enable" : "links.actions.disable",
      icon: disabled ? CircleCheck : CircleOff,
      onSelect: () => onChange(link, { disabled: !disabled }, disabled ? "enabled" : "disabled"),
    },
    {
      label: "ui.delete",
      icon: Trash2,
      danger: true,
      onSelect: () => onDialog(DeleteDialog, link),
    },
  ];
  return (
    <ActionMenu
      label={label}
      actions={canWrite ? [...readActions, ...writeActions] : readActions}
    />
  );
}
