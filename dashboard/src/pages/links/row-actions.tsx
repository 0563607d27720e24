import {
  Archive,
  ArchiveRestore,
  ChartSpline,
  CircleCheck,
  CircleOff,
  Copy,
  Pencil,
  QrCode,
  Split,
  Trash2,
} from "lucide-react";
import { useLocation } from "wouter";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { useCommands } from "../../data/commands.ts";
import { useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import type { BulkVerb } from "./bulk.ts";
import type { LinkDialogKind } from "./link-dialog.tsx";

export type RowActions = {
  onDialog: (kind: LinkDialogKind, link: Link) => void;
  onChange: (link: Link, change: LinkChange, verb: BulkVerb) => void;
};

type RowMenuProps = RowActions & { link: Link; label: string };

/** The menu of a link's row. */
export function RowMenu({ link, label, onDialog, onChange }: RowMenuProps) {
  const canWrite = useCanWrite();
  const { createLink } = useCommands();
  const [, navigate] = useLocation();
  const { id, archived = false, disabled = false } = link;
  const reading = [
    {
      label: t("shell.pages.analytics"),
      icon: <ChartSpline aria-hidden />,
      onSelect: () => navigate(`/links/${id}`),
    },
    {
      label: t("links.actions.rules"),
      icon: <Split aria-hidden />,
      onSelect: () => navigate(`/links/${id}/rules`),
    },
    {
      label: t("links.qr.title"),
      icon: <QrCode aria-hidden />,
      onSelect: () => onDialog("qr", link),
    },
  ];
  const writing = [
    {
      label: t("links.actions.edit"),
      icon: <Pencil aria-hidden />,
      onSelect: () => onDialog("edit", link),
    },
    {
      label: t("links.actions.duplicate"),
      icon: <Copy aria-hidden />,
      onSelect: () => createLink({ copyOf: id }),
    },
    {
      label: archived ? t("links.actions.unarchive") : t("links.actions.archive"),
      icon: archived ? <ArchiveRestore aria-hidden /> : <Archive aria-hidden />,
      onSelect: () => onChange(link, { archived: !archived }, archived ? "unarchived" : "archived"),
    },
    {
      label: disabled ? t("links.actions.enable") : t("links.actions.disable"),
      icon: disabled ? <CircleCheck aria-hidden /> : <CircleOff aria-hidden />,
      onSelect: () => onChange(link, { disabled: !disabled }, disabled ? "enabled" : "disabled"),
    },
    {
      label: t("links.actions.delete"),
      icon: <Trash2 aria-hidden />,
      danger: true,
      onSelect: () => onDialog("delete", link),
    },
  ];
  return <ActionMenu label={label} actions={canWrite ? [...reading, ...writing] : reading} />;
}
