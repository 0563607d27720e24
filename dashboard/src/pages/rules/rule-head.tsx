/** The head of a rule: its position, which dragging and buttons change, and its click counts. */
import { ArrowDown, ArrowUp, GripVertical, Trash2 } from "lucide-react";
import type { DragEvent, MouseEvent, ReactNode } from "react";

import { useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";

type RuleHeadProps = {
  /** Its position, from 1. */
  number: number;
  isLast: boolean;
  counts: ReactNode;
  onDragStart: () => void;
  onDragEnd: () => void;
  /** The number of positions to move by: -1 or 1. */
  onMove: (by: number) => void;
  onRemove: () => void;
};

export function RuleHead(props: RuleHeadProps) {
  const { number, isLast, counts, onDragStart, onDragEnd, onMove, onRemove } = props;
  const canWrite = useCanWrite();
  function startDrag({ dataTransfer }: DragEvent): void {
    // Firefox does not start a drag without data.
    dataTransfer.setData("text/plain", t("rules.rule", { number }));
    dataTransfer.effectAllowed = "move";
    onDragStart();
  }
  function move({ currentTarget: button }: MouseEvent<HTMLButtonElement>, by: number): void {
    onMove(by);
    // A button that is moved on the page, or disabled at an end of the list, loses the focus.
    requestAnimationFrame(() => {
      const usable = button.parentElement?.querySelector<HTMLElement>("button:not(:disabled)");
      (button.disabled ? usable : button)?.focus();
    });
  }
  return (
    <header className="rule-head">
      <span
        className="rule-handle"
        title={t("rules.drag")}
        draggable={canWrite}
        onDragStart={startDrag}
        onDragEnd={onDragEnd}
      >
        <GripVertical aria-hidden />
        <strong>{t("rules.rule", { number })}</strong>
      </span>
      {counts}
      <span>
        <IconButton
          label={t("rules.moveUp", { number })}
          disabled={number === 1}
          onClick={(event) => move(event, -1)}
        >
          <ArrowUp aria-hidden />
        </IconButton>
        <IconButton
          label={t("rules.moveDown", { number })}
          disabled={isLast}
          onClick={(event) => move(event, 1)}
        >
          <ArrowDown aria-hidden />
        </IconButton>
        <IconButton label={t("rules.removeRule", { number })} onClick={onRemove}>
          <Trash2 aria-hidden />
        </IconButton>
      </span>
    </header>
  );
}
