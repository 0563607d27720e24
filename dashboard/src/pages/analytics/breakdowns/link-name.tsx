/** The short URL of a link by its id. It opens the link's analytics in the same view. */
import { useQuery } from "@tanstack/react-query";
import { Link as PageLink } from "wouter";

import { readableUrl } from "../../../../../shared/contracts/readable-host.ts";
import { getClient } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { useAnalyticsQuery } from "../analytics-query.ts";

/** The short URL and title of a link; null when it is deleted. */
type Name = { short_url: string | null; title: string | null };

/** Queries the name unless it is passed. */
export function LinkName({ id, name }: { id: string; name?: Name | undefined }) {
  const { scope } = useAccountContext();
  const { viewSearch } = useAnalyticsQuery();
  const { data, error } = useQuery({
    enabled: name === undefined,
    queryKey: ["link", scope, id],
    queryFn: () => getClient(scope).links.get(id),
  });
  const link = name ?? data;
  const isDeleted = name?.short_url === null || error !== null;
  if (link === undefined || link.short_url === null) {
    return <span className="hint">{isDeleted ? t("analytics.deletedLink", { id }) : id}</span>;
  }
  return (
    <>
      <PageLink href={`/links/${id}${viewSearch}`}>{readableUrl(link.short_url)}</PageLink>
      {link.title !== null && <small className="hint"> {link.title}</small>}
    </>
  );
}
