/** A panel with a newly created link: its short URL, selected and copied, and its QR code. */
import { X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";

import type { CreatedLink } from "../data/commands.ts";
import { getBasePath } from "../data/scope.ts";
import { useAccountContext } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { CopyButton, IconButton } from "../ui/button.tsx";

type PanelProps = { created: CreatedLink; onClose: () => void };

/**
 * A panel beside the page. It is not modal, so that the user can continue. Closing it returns the
 * focus.
 */
export function CreatedLinkPanel({ created: { link, copied }, onClose }: PanelProps) {
  const { scope } = useAccountContext();
  const [outcome, setOutcome] = useState("");
  const panel = useRef<HTMLElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const statusId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const { current } = panel;
    field.current?.focus();
    return () => {
      const hasFocus = current?.contains(document.activeElement) ?? false;
      if (hasFocus && before instanceof HTMLElement) before.focus();
    };
  }, []);
  useEffect(() => {
    void copied.then((done) =>
      setOutcome(done ? t("commands.created.copied") : t("commands.created.press")),
    );
  }, [copied]);
  return (
    <section
      ref={panel}
      className="created"
      aria-label={t("commands.created.label")}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <img
        className="created-qr"
        src={`${getBasePath(scope)}/v1/links/${link.id}/qr?format=svg&size=256`}
        alt={t("commands.created.qr", { url: link.short_url })}
      />
      <div className="created-text">
        <strong>{t("commands.created.ready")}</strong>
        <input
          ref={field}
          readOnly
          aria-label={t("commands.created.url")}
          aria-describedby={statusId}
          value={link.short_url}
          onFocus={({ currentTarget }) => {
            currentTarget.select();
            // Shows the beginning of the text instead of its end.
            currentTarget.scrollLeft = 0;
          }}
        />
        <div className="created-foot">
          <CopyButton text={link.short_url} label={t("ui.copy")}>
            {t("ui.copy")}
          </CopyButton>
          <span id={statusId} role="status" className="hint">
            {outcome}
          </span>
        </div>
      </div>
      <IconButton label={t("commands.created.dismiss")} onClick={onClose}>
        <X aria-hidden />
      </IconButton>
    </section>
  );
}
