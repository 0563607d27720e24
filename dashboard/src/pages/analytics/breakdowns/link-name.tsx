/** The short URL of a link by its id, leading to the link's analytics in the same view. */
import { useQuery } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import { getClient } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import { useViewSearch } from "../question.ts";

export function LinkName({ id }: { id: string }) {
  const { scope } = useAccountContext();
  const search = useViewSearch();
  const { data: link, error } = useQuery({
    queryKey: ["link", scope, id],
    queryFn: () => getClient(scope).links.get(id),
  });
  if (link === undefined) {
    return <span className="hint">{error === null ? id : `${id} (deleted)`}</span>;
  }
  return (
    <>
      <PageLink href={`/links/${id}${search}`}>
        {link.short_url.replace(/^https?:\/\//, "")}
      </PageLink>
      {link.title !== null && <small className="hint"> {link.title}</small>}
    </>
  );
}
