/**
 * Takes a new link's destination from the clipboard: automatically if the browser allows it,
 * otherwise by a button.
 */
import { useQueryClient } from "@tanstack/react-query";
import { ClipboardPaste } from "lucide-react";
import { useEffect, useState } from "react";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import { readClipboard, readPermission } from "../../data/clipboard.ts";
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
    const domains = queryClient.getQueryData<Pick<Domain, "domain">[]>(["domains", scope]) ?? [];
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
