import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { DEBOUNCE_MS } from "../../ui/debounced.ts";

/** Most characters of the API's search. */
const SEARCH_LENGTH_MAX = 255;

type SearchFormProps = {
  /** The search of the page's URL. */
  search: string;
  /** With `replace`, the search goes on from the one before: it is one step of the browser's history. */
  onSearch: (text: string, options: { replace: boolean }) => void;
};

/** Searches while one types, after a short pause, and at once with Enter. */
export function SearchForm({ search, onSearch }: SearchFormProps) {
  const [text, setText] = useState(search);
  /** What the URL has, or will have as soon as it is changed. */
  const sent = useRef(search);
  const goesOn = useRef(false);

  function send(): void {
    const wanted = text.trim();
    if (wanted === sent.current) return;
    sent.current = wanted;
    onSearch(wanted, { replace: goesOn.current });
    goesOn.current = true;
  }
  useEffect(() => {
    if (search === sent.current) return;
    // The user has gone back, or followed a link.
    sent.current = search;
    goesOn.current = false;
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
        aria-label="Search links"
        aria-keyshortcuts="/"
        placeholder="Search by title, alias or URL"
        maxLength={SEARCH_LENGTH_MAX}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => {
          send();
          goesOn.current = false;
        }}
      />
    </form>
  );
}
