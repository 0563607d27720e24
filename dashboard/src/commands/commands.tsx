/**
 * Commands available on every page, by keys and from buttons: a new link, the palette and the list
 * of shortcuts.
 */
import { useIsFetching } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

import { type Commands, CommandsContext, type CreatedLink } from "../data/commands.ts";
import { getBasePath } from "../data/scope.ts";
import { useAccountContext, useCanWrite } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { EditDialog, linkDialogs } from "../pages/links/lazy-dialogs.tsx";
import { CopyButton, IconButton, useDialog } from "../ui/button.tsx";
import { LoadingDialog } from "../ui/dialog.tsx";
import { lazyPart, Script } from "../ui/states.tsx";
import { type Command, readShortcut, readSingleKeys } from "./shortcuts.ts";

const commandDialogs = new Script(() => import("./palette.tsx"));
const Palette = lazyPart(commandDialogs, (part) => part.Palette, LoadingDialog);
const ShortcutsDialog = lazyPart(commandDialogs, (part) => part.ShortcutsDialog, LoadingDialog);

/** Provides the commands to the pages within, and listens to the shortcuts. */
export function CommandsProvider({ children }: { children: ReactNode }) {
  const canWrite = useCanWrite();
  const { open, dialog } = useDialog();
  const [created, setCreated] = useState<CreatedLink>();
  const [location] = useLocation();
  // Always the same object, so that a dialog that opens renders no component that runs commands.
  const [commands] = useState<Commands>(() => ({
    createLink: (start = {}) => {
      setCreated(undefined);
      open((close) => (
        <EditDialog
          start={start}
          onClose={close}
          onCreated={(link) => {
            close();
            setCreated(link);
          }}
        />
      ));
    },
    openPalette: () => open((close) => <Palette onClose={close} />),
    openShortcuts: () => open((close) => <ShortcutsDialog onClose={close} />),
  }));

  const run: Record<Command, () => void> = {
    create: () => canWrite && commands.createLink(),
    palette: commands.openPalette,
    shortcuts: commands.openShortcuts,
    search: () => focusSearch() || commands.openPalette(),
  };
  useShortcuts((command) => run[command]());
  // Closes the panel when another page opens.
  useEffect(() => setCreated(undefined), [location]);

  return (
    <CommandsContext value={commands}>
      {children}
      <IdlePreload />
      {dialog}
      {created !== undefined && (
        <CreatedLinkPanel
          key={created.link.id}
          created={created}
          onClose={() => setCreated(undefined)}
        />
      )}
    </CommandsContext>
  );
}

/** Elements whose keys are theirs: they type text, or choose an option by its first letters. */
const WITH_KEYS = ":read-write,select,[role=menuitem]";

/** Calls `run` for shortcuts that are pressed outside such elements and dialogs. */
function useShortcuts(run: (command: Command) => void): void {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const command = readShortcut(event, readSingleKeys());
      if (command === undefined) return;
      if (event.target instanceof Element && event.target.matches(WITH_KEYS)) return;
      if (document.querySelector("dialog:modal") !== null) return;
      // Keeps the character out of the field that gets the focus.
      event.preventDefault();
      run(command);
    }
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [run]);
}

/** Focuses the page's search; returns false if it has none. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]");
  field?.focus();
  field?.select();
  return field !== null;
}

/**
 * Loads what most visits need next, once the page has its data, which scripts would delay, and the
 * browser is idle.
 */
function IdlePreload() {
  const isFetching = useIsFetching() > 0;
  useEffect(() => {
    if (isFetching) return undefined;
    const load = () =>
      void Promise.all([linkDialogs.load(), commandDialogs.load()]).catch(() => undefined);
    // Safari does not support idle callbacks.
    if (typeof requestIdleCallback !== "function") {
      const timer = setTimeout(load, PRELOAD_DELAY_MS);
      return () => clearTimeout(timer);
    }
    const handle = requestIdleCallback(load);
    return () => cancelIdleCallback(handle);
  }, [isFetching]);
  return null;
}

const PRELOAD_DELAY_MS = 1_000;

type PanelProps = { created: CreatedLink; onClose: () => void };

/**
 * A panel with a newly created link: its short URL, selected and copied, and its QR code. It is not
 * modal, so that the user can continue. Closing it returns the focus.
 */
function CreatedLinkPanel({ created: { link, copied }, onClose }: PanelProps) {
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
          aria-label={t("fields.short_url")}
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
