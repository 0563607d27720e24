import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { t } from "../../languages/translate.ts";
import { DEBOUNCE_MS } from "../../ui/debounced.ts";

/** Maximum characters of the API's search. */
const SEARCH_LENGTH_MAX = 255;

type SearchFormProps = {
  /** The search of the page's URL. */
  search: string;
  /**
   * With `replace`, the search continues the previous one: both are one step of the browser's
   * history.
   */
  onSearch: (text: string, options: { replace: boolean }) => void;
};

/** Searches while the user types, after a short pause, and immediately on Enter. */
export function SearchForm({ search, onSearch }: SearchFormProps) {
  const [text, setText] = useState(search);
  /** The current or next text in the URL. */
  const sent = useRef(search);
  const isContinuation = useRef(false);

  function send(): void {
    const trimmed = text.trim();
    if (trimmed === sent.current) return;
    sent.current = trimmed;
    onSearch(trimmed, { replace: isContinuation.current });
    isContinuation.current = true;
  }
  useEffect(() => {
    if (search === sent.current) return;
    // The user has gone back, or followed a link.
    sent.current = search;
    isContinuation.current = false;
    setText(search);
  }, [search]);
  useEffect(() => {
    const timer = setTimeout(send, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  });

  return (
    <form
      role="search"
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Search aria-hidden />
      <input
        type="search"
        aria-label={t("commands.meanings.search")}
        aria-keyshortcuts="/"
        placeholder={t("links.list.searchHint")}
        maxLength={SEARCH_LENGTH_MAX}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => {
          send();
          isContinuation.current = false;
        }}
      />
    </form>
  );
}
