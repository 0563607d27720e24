/**
 * The clipboard: writes a new link's short URL, and reads its destination, automatically if the
 * browser allows it, otherwise by a button.
 */
import { useQueryClient } from "@tanstack/react-query";
import { ClipboardPaste } from "lucide-react";
import { useEffect, useState } from "react";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import { readCopiedUrl } from "../../data/destination.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";

/** Returns a function that reads a destination from the clipboard; undefined if there is none. */
function useReadUrl(): () => Promise<string | undefined> {
  const { scope, session } = useAccountContext();
  const queryClient = useQueryClient();
  return async () => {
    const text = await readClipboard();
    // Uses only cached domains: the clipboard is not worth a request.
    const domains = queryClient.getQueryData<Domain[]>(["domains", scope]) ?? [];
    const hosts = [new URL(session.short_url).host, ...domains.map(({ domain }) => domain)];
    return readCopiedUrl(text, hosts);
  };
}

/**
 * Takes the URL from the clipboard when the form opens, if the browser allows that without asking.
 */
export function useCopiedUrl(enabled: boolean, onUrl: (url: string) => void): void {
  const readUrl = useReadUrl();
  useEffect(() => {
    if (!enabled) return;
    void readPermission().then(async (state) => {
      const url = state === "granted" ? await readUrl() : undefined;
      if (url !== undefined) onUrl(url);
    });
    // Once, for what is in the clipboard when the form opens.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, []);
}

/** Pastes on a click if the browser asks first; afterwards the form does it automatically. */
export function PasteButton({ onPaste }: { onPaste: (url: string) => void }) {
  const readUrl = useReadUrl();
  const [prompts, setPrompts] = useState(false);
  useEffect(() => {
    void readPermission().then((state) => setPrompts(state === "prompt"));
  }, []);
  async function paste(): Promise<void> {
    const url = await readUrl();
    if (url === undefined) toast(t("links.form.noUrlCopied"), "error");
    else onPaste(url);
  }
  return (
    prompts && (
      <IconButton label={t("links.form.paste")} onClick={() => void paste()}>
        <ClipboardPaste aria-hidden />
      </IconButton>
    )
  );
}

/**
 * Copies a text that is not available yet. Must be called while the user's click or key is being
 * handled: browsers allow a copy only then. Returns whether the text has been copied. Never throws,
 * even if the text rejects.
 */
export async function copyWhenReady(text: Promise<string>): Promise<boolean> {
  try {
    const content = text.then((ready) => new Blob([ready], { type: "text/plain" }));
    // The browser may reject the copy first; then nothing else here awaits the text.
    content.catch(() => undefined);
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return true;
  } catch {
    // Some browsers lack clipboard items, or do not accept promises in them.
    return await text.then(copyText).catch(() => false);
  }
}

/**
 * Copies a text. Throws if the browser does not allow it or has no clipboard, as on a page without
 * https.
 */
async function copyText(text: string): Promise<boolean> {
  await navigator.clipboard.writeText(text);
  return true;
}

/** Whether the clipboard can be read: immediately, after the browser has asked, or not at all. */
async function readPermission(): Promise<PermissionState> {
  try {
    // The type lists only the names that all browsers support; browsers without this one throw.
    const name = "clipboard-read" as PermissionName;
    return (await navigator.permissions.query({ name })).state;
  } catch {
    return "denied";
  }
}

/** Returns the text of the clipboard; "" if it has none or cannot be read. */
async function readClipboard(): Promise<string> {
  try {
    return await navigator.clipboard.readText();
  } catch {
    return "";
  }
}
