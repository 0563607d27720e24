/**
 * The dialogs of commands: the palette, which searches pages, actions and links and opens them with
 * Enter, and the list of shortcuts. One script, loaded when the browser is idle.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";

import type { ResponseBody } from "../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../shared/contracts/host-names.ts";
import { composeLetters } from "../../../shared/contracts/text.ts";
import { completeUrl, parseWebUrl } from "../../../shared/contracts/web-url.ts";
import { useCommands } from "../data/commands.ts";
import { getJson } from "../data/http.ts";
import { getBasePath, SEARCH_LENGTH_MAX } from "../data/scope.ts";
import { useAccountContext, useCanWrite, useSignOut } from "../data/session.ts";
import { getErrorMessage } from "../languages/errors.ts";
import { t } from "../languages/translate.ts";
import { MAIN_ITEMS, settingsItems } from "../nav-items.ts";
import { applyTheme, THEMES } from "../preferences.ts";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/field.tsx";
import { useDebounced } from "../ui/search-state.ts";
import { useToastError } from "../ui/toast.tsx";
import { readSingleKeys, saveSingleKeys, SHORTCUTS } from "./shortcuts.ts";

/** Maximum links shown by a search; the page of links shows all. */
const LINKS_MAX = 6;

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const listId = useId();
  const links = useLinkItems(text.trim());
  const commands = matchItems([...useActions(text), ...usePages()], text);
  // Search results come last, so that their arrival does not move an item before Enter is pressed.
  const items = [...commands, ...(text.trim() === "" ? [] : links.items)];
  const current = Math.min(active, items.length - 1);

  const select = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    onClose();
    item.onSelect();
  };
  function onKeyDown(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") {
      event.preventDefault();
      select(items[current]);
    }
    const next = moveActive(event.key, current, items.length);
    if (next === undefined) return;
    event.preventDefault();
    setActive(next);
  }
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [current, items.length]);

  return (
    <Dialog title={t("shell.commands")} onClose={onClose}>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          role="combobox"
          aria-label={t("commands.palette.label")}
          aria-expanded
          aria-controls={listId}
          aria-autocomplete="list"
          {...(current < 0 ? {} : { "aria-activedescendant": `${listId}-${current}` })}
          autoComplete="off"
          spellCheck={false}
          maxLength={SEARCH_LENGTH_MAX}
          placeholder={t("commands.palette.placeholder")}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
      </form>
      <ItemList
        ref={list}
        id={listId}
        items={items}
        current={current}
        onActive={setActive}
        onSelect={select}
      />
      <p className="hint palette-state" role="status">
        {describeState(items.length, links)}
      </p>
    </Dialog>
  );
}

type ItemListProps = {
  ref: RefObject<HTMLUListElement | null>;
  id: string;
  items: readonly PaletteItem[];
  current: number;
  onActive: (index: number) => void;
  onSelect: (item: PaletteItem) => void;
};

const ItemList = ({ ref, id, items, current, onActive, onSelect }: ItemListProps) => (
  <ul
    ref={ref}
    id={id}
    role="listbox"
    aria-label={t("commands.palette.found")}
    className="palette-list"
  >
    {items.map((item, i) => (
      <li
        key={item.id}
        id={`${id}-${i}`}
        role="option"
        aria-selected={i === current}
        onMouseMove={() => i !== current && onActive(i)}
        onClick={() => onSelect(item)}
      >
        <span className="palette-name">{item.name}</span>
        <span className="palette-detail">{item.detail}</span>
      </li>
    ))}
  </ul>
);

type LinkItems = { items: PaletteItem[]; loading: boolean; error: unknown };

const describeState = (count: number, { loading, error }: LinkItems): string => {
  if (error !== null) return getErrorMessage(error);
  if (loading) return t("commands.palette.searching");
  return count === 0 ? t("commands.palette.nothing") : "";
};

/**
 * Searches the links. Each text has its own response, so that a late one does not replace a newer
 * one. Until the response arrives, shows the previous one's links that also contain the text.
 */
function useLinkItems(text: string): LinkItems {
  const { scope } = useAccountContext();
  const [, navigate] = useLocation();
  const search = useDebounced(text);
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ["links", scope, "palette", search],
    enabled: search !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      getJson<ResponseBody<"listLinks">>(`${getBasePath(scope)}/v1/links`, {
        // Uses a cursor, so that the API counts no total.
        query: { search, limit: LINKS_MAX, starting_after: "", archived: "any" },
        signal,
      }),
  });
  const isCurrent = search === text && !isPlaceholderData;
  const shown = (data?.data ?? []).filter(
    ({ short_url, title, original_url }) =>
      isCurrent ||
      `${readableUrl(short_url)} ${short_url} ${title} ${original_url}`
        .toLowerCase()
        .includes(composeLetters(text).toLowerCase()),
  );
  const items = shown.map((link): PaletteItem => {
    const short = readableUrl(link.short_url);
    return {
      id: link.id,
      name: short,
      detail: link.title ?? link.original_url,
      onSelect: () => navigate(`/links/${link.id}`),
    };
  });
  return { items, loading: text !== "" && (isFetching || search !== text), error };
}

/** The pages and actions that the palette offers to the current user. */
function usePages(): PaletteItem[] {
  const { account } = useAccountContext();
  const [, navigate] = useLocation();
  return [...MAIN_ITEMS, ...settingsItems(account.role)].map(({ path, name }) => ({
    id: path,
    name: t(name),
    detail: t("commands.page"),
    onSelect: () => navigate(path),
  }));
}

const action = (
  name: string,
  onSelect: () => void,
  detail = t("commands.action"),
): PaletteItem => ({
  id: `${name} ${detail}`,
  name,
  detail,
  onSelect,
});

/** Actions. If the text is a destination, the first one creates a link to it. */
function useActions(text: string): PaletteItem[] {
  const { session, account, mode } = useAccountContext();
  const canWrite = useCanWrite();
  const { createLink, openShortcuts } = useCommands();
  const signOut = useSignOut();
  const toastError = useToastError();
  const [, navigate] = useLocation();
  const url = readDestination(text);
  const otherMode = mode === "live" ? "test" : "live";
  return [
    ...(canWrite && url !== undefined
      ? [action(t("commands.newLinkTo"), () => createLink({ url }), text.trim())]
      : []),
    ...(canWrite
      ? [
          action(t("commands.newLink"), () => createLink()),
          action(t("commands.importLinks"), () => navigate("/links/import")),
        ]
      : []),
    action(t("commands.shortcuts"), openShortcuts),
    action(t(`commands.switchTo.${otherMode}`), () =>
      navigate(`~/${account.id}/${otherMode}/links`),
    ),
    ...session.accounts
      .filter(({ id }) => id !== account.id)
      .map(({ id, name }) =>
        action(name, () => navigate(`~/${id}/${mode}/links`), t("shell.account")),
      ),
    ...THEMES.map((theme) => action(t(`commands.themes.${theme}`), () => applyTheme(theme))),
    action(t("shell.signOut"), () => void signOut().catch(toastError)),
  ];
}

/** The items of the palette, and which of them match the typed text. */
export type PaletteItem = {
  id: string;
  name: string;
  /** Further words that find it, or other information about it. */
  detail: string;
  onSelect: () => void;
};

/**
 * Returns the items whose name or detail contains every word of a text, in their order; all for an
 * empty text.
 */
export function matchItems(items: readonly PaletteItem[], text: string): PaletteItem[] {
  const words = composeLetters(text).toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter(({ name, detail }) => {
    const own = `${name} ${detail}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
}

/** Returns the text as the destination of a new link; undefined if it is not one. */
export function readDestination(text: string): string | undefined {
  const url = completeUrl(text);
  return "url" in parseWebUrl(url) ? url : undefined;
}

/**
 * Returns the index that an arrow key moves to, wrapping around at the ends; undefined for other
 * keys.
 */
export function moveActive(key: string, active: number, count: number): number | undefined {
  if (count === 0) return undefined;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: (active + 1) % count,
    ArrowUp: (active - 1 + count) % count,
  };
  return targets[key];
}

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const [singleKeys, setSingleKeys] = useState(readSingleKeys);
  return (
    <Dialog title={t("commands.shortcuts")} onClose={onClose}>
      <dl className="shortcuts">
        {SHORTCUTS.map(({ keys, meaning }) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key === "Ctrl" ? t("commands.ctrl") : key}</kbd>
              ))}
            </dt>
            <dd>{t(meaning)}</dd>
          </div>
        ))}
      </dl>
      <CheckField
        label={t("commands.singleKeys")}
        hint={t("commands.singleKeysHint")}
        checked={singleKeys}
        onChange={({ target: { checked } }) => {
          saveSingleKeys(checked);
          setSingleKeys(checked);
        }}
      />
    </Dialog>
  );
}
