import { ArrowDown, ArrowUp, ChartSpline, Pencil, QrCode, Split, Trash2 } from "lucide-react";
import { Link as PageLink, useLocation } from "wouter";

import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { useCanWrite } from "../../data/session.ts";
import { CopyButton } from "../../ui/button.tsx";
import { formatCount, formatDate, formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { Table } from "../../ui/table.tsx";
import { StateBadges } from "./state-badges.tsx";

type Sort = "created_at" | "clicks";
type Order = "asc" | "desc";

type LinkTableProps = {
  links: readonly ListedLink[];
  sort: Sort;
  order: Order;
  onSort: (sort: Sort, order: Order) => void;
  onTag: (tag: string) => void;
  onAction: (kind: "edit" | "qr" | "delete", link: ListedLink) => void;
};

export function LinkTable({ links, sort, order, onSort, onTag, onAction }: LinkTableProps) {
  const heading = (name: Sort, label: string) => (
    <SortHeading
      label={label}
      {...(sort === name ? { order } : {})}
      onSort={() => onSort(name, sort === name && order === "desc" ? "asc" : "desc")}
    />
  );
  return (
    <Table
      label="Links"
      className="links"
      headRow={
        <tr>
          <th scope="col">Link</th>
          {heading("clicks", "Clicks")}
          {heading("created_at", "Created")}
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      }
    >
      {links.map((link) => (
        <LinkRow key={link.id} link={link} onTag={onTag} onAction={onAction} />
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

function LinkRow({
  link,
  onTag,
  onAction,
}: { link: ListedLink } & Pick<LinkTableProps, "onTag" | "onAction">) {
  const canWrite = useCanWrite();
  const [, navigate] = useLocation();
  const short = link.short_url.replace(/^https?:\/\//, "");
  const icons = {
    analytics: <ChartSpline aria-hidden />,
    qr: <QrCode aria-hidden />,
    rules: <Split aria-hidden />,
    edit: <Pencil aria-hidden />,
    remove: <Trash2 aria-hidden />,
  };
  return (
    <tr>
      <td className="link-cell">
        <div className="link-line">
          <PageLink href={`/links/${link.id}`} className="short-url">
            {short}
          </PageLink>
          <CopyButton text={link.short_url} label={`Copy ${short}`} />
          <StateBadges link={link} />
        </div>
        {link.status === "taken_down" && (
          <p className="taken-down">
            Taken down by the operator of this service: visitors see a page that says so.
          </p>
        )}
        {link.title !== null && <div className="link-title">{link.title}</div>}
        <div className="destination" title={link.original_url}>
          {link.original_url}
        </div>
        {link.tags.length > 0 && (
          <div className="tags">
            {link.tags.map((tag) => (
              <button key={tag} type="button" className="tag" onClick={() => onTag(tag)}>
                {tag}
              </button>
            ))}
          </div>
        )}
      </td>
      <td className="number">
        <PageLink href={`/links/${link.id}`}>{formatCount(link.clicks)}</PageLink>
      </td>
      <td className="when" title={formatDateTime(link.created_at)}>
        {formatDate(link.created_at)}
      </td>
      <td className="row-actions">
        <ActionMenu
          label={`Actions for ${short}`}
          actions={[
            {
              label: "Analytics",
              icon: icons.analytics,
              onSelect: () => navigate(`/links/${link.id}`),
            },
            {
              label: "Rules and split",
              icon: icons.rules,
              onSelect: () => navigate(`/links/${link.id}/rules`),
            },
            { label: "QR code", icon: icons.qr, onSelect: () => onAction("qr", link) },
            ...(canWrite
              ? [
                  { label: "Edit", icon: icons.edit, onSelect: () => onAction("edit", link) },
                  {
                    label: "Delete",
                    icon: icons.remove,
                    danger: true,
                    onSelect: () => onAction("delete", link),
                  },
                ]
              : []),
          ]}
        />
      </td>
    </tr>
  );
}
