/** What a view shows when there is nothing to show: yet, at all, or because something failed. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

import { messageOf } from "../data/errors.ts";
import { Button } from "./button.tsx";

export const Loading = ({ what, lines = 4 }: { what: string; lines?: number }) => (
  <div className="loading" role="status" aria-label={`Loading ${what}`}>
    {Array.from({ length: lines }, (_, i) => (
      <span key={i} className="skeleton" />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <h3>{title}</h3>
    {children}
  </div>
);

export const Failed = ({ error, onRetry }: { error: unknown; onRetry?: () => void }) => (
  <div className="failed" role="alert">
    <TriangleAlert aria-hidden />
    <p>{messageOf(error)}</p>
    {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

/** What is wrong with what was just done. */
export const Problem = ({ children }: { children: ReactNode }) => (
  <p className="problem" role="alert">
    {children}
  </p>
);

type Asked<Data> = {
  data: Data | undefined;
  error: unknown;
  refetch: () => Promise<unknown>;
};

/** Shows what was asked for, once it is there; says so while it is not. */
export function Show<Data>({
  query,
  what,
  lines,
  children,
}: {
  query: Asked<Data>;
  what: string;
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) {
    return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  }
  return <Loading what={what} {...(lines === undefined ? {} : { lines })} />;
}
