/** Filters of the list by tag and domain, in a panel that opens from a button. */
import { useQuery } from "@tanstack/react-query";
import { ListFilter } from "lucide-react";
import { type FormEvent, useId, useState } from "react";

import { readableHost } from "../../../../shared/contracts/readable-host.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { useTags } from "../../data/tags.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { PanelButton } from "../../ui/panel-button.tsx";
import type { SearchUpdate } from "../../ui/search-state.ts";
import { addTag, type ListQuery } from "./list-query.ts";

type FilterProps = {
  query: ListQuery;
  /** Tags of the displayed links, as options. */
  shownTags: readonly string[];
  onChange: (update: SearchUpdate) => void;
};

export const FilterButton = (props: FilterProps) => (
  <PanelButton label={t("links.filter.title")} icon={<ListFilter aria-hidden />}>
    {(close) => <Fields {...props} onDone={close} />}
  </PanelButton>
);

function Fields({ query, shownTags, onChange, onDone }: FilterProps & { onDone: () => void }) {
  const [tag, setTag] = useState("");
  const listId = useId();
  const tags = useTags();
  const hosts = useHosts();
  function submit(event: FormEvent): void {
    event.preventDefault();
    onChange(addTag(query, tag));
    setTag("");
    onDone();
  }
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label={t("links.filter.tag")}
        list={listId}
        autoComplete="off"
        maxLength={50}
        value={tag}
        onChange={(event) => setTag(event.target.value)}
      />
      <datalist id={listId}>
        {[...new Set([...shownTags, ...tags.map(({ name }) => name)])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button type="submit" disabled={tag.trim() === ""}>
        {t("links.filter.addTag")}
      </Button>
      <SelectField
        label={t("links.filter.domain")}
        options={[
          { value: "", label: t("links.filter.any") },
          ...hosts.map((host) => ({ value: host, label: readableHost(host) })),
        ]}
        value={query.domain ?? ""}
        onChange={(event) => {
          onChange({ domain: event.target.value });
          onDone();
        }}
      />
    </form>
  );
}

/** The hosts that links can be on, the service's own first. */
function useHosts(): string[] {
  const { scope, session } = useAccountContext();
  const { data } = useQuery({
    queryKey: ["domains", scope],
    queryFn: () => Array.fromAsync(getClient(scope).domains.all()),
  });
  return [new URL(session.short_url).host, ...(data ?? []).map(({ domain }) => domain)];
}
