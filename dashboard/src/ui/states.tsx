/** Actions of the API, the states of queries and actions, and parts that load later. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import {
  type ComponentType,
  type FunctionComponent,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useMemo,
  useState,
} from "react";

import { getErrorMessage } from "../languages/errors.ts";
import { t } from "../languages/translate.ts";
import { Button } from "./button.tsx";
import { inSentence } from "./format.ts";
import { toast } from "./toast.tsx";

export const Loading = ({ label, lines = 4 }: { label: string; lines?: number }) => (
  <div className="loading" role="status" aria-label={t("ui.loading", { what: label })}>
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

export const ErrorState = ({ error, onRetry }: { error: unknown; onRetry?: () => void }) => (
  <div className="error-state" role="alert">
    <TriangleAlert aria-hidden />
    <p>{getErrorMessage(error)}</p>
    {onRetry !== undefined && <Button onClick={onRetry}>{t("ui.tryAgain")}</Button>}
  </div>
);

/** What follows from an action of the API. */
export type Effects<Result> = {
  /** Names of the queries that are read again. */
  invalidate?: readonly string[];
  successMessage?: string | ((result: Result) => string);
  onSuccess?: (result: Result) => void;
  onError?: (error: unknown) => void;
};

/**
 * Like `useMutation`; reads the named queries again and shows a toast on success. The caller shows
 * `error`.
 */
export function useApiMutation<Result, Input = void>(
  mutationFn: (input: Input) => Promise<Result>,
  { invalidate = [], successMessage, onSuccess, onError }: Effects<Result> = {},
) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn,
    // The result may be a secret, such as a new API key: drop it with the component that shows it.
    gcTime: 0,
    async onSuccess(result) {
      await Promise.all(
        invalidate.map((name) => queryClient.invalidateQueries({ queryKey: [name] })),
      );
      if (typeof successMessage === "function") toast(successMessage(result));
      else if (successMessage !== undefined) toast(successMessage);
      onSuccess?.(result);
    },
    onError: (error) => onError?.(error),
  });
}

/** An action that can fail, such as a mutation. */
export type Task = { isPending: boolean; error: unknown };

/** The error of an action; nothing without one. */
export const ErrorAlert = ({ error }: { error: unknown }) =>
  error !== null && <Alert>{getErrorMessage(error)}</Alert>;

/** The message of an action that failed. */
export const Alert = ({ children }: { children: ReactNode }) => (
  <p className="alert" role="alert">
    {children}
  </p>
);

type QueryState<Data> = {
  data: Data | undefined;
  error: unknown;
  refetch: () => Promise<unknown>;
  /** Whether the data answer an earlier question, of queries that show them meanwhile. */
  isOutdated?: boolean;
};

/**
 * Renders a query's data, faint while others are fetched, or its loading state; below, why it
 * cannot be read, or read again.
 */
export function QueryBoundary<Data>({
  query,
  label,
  lines,
  children,
}: {
  query: QueryState<Data>;
  /** The title of the content, for screen readers while it is loading. */
  label: string;
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, isOutdated, refetch } = query;
  if (data === undefined && error === null)
    return <Loading label={inSentence(label)} {...(lines === undefined ? {} : { lines })} />;
  const content = data !== undefined && children(data);
  return (
    <>
      {isOutdated === undefined ? content : <div aria-busy={isOutdated}>{content}</div>}
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
    </>
  );
}

/** Data that are rendered in a deferred rendering, which yields to keys and clicks. */
type Fetched<Data> = {
  data: Data | undefined;
  /** Whether the data answer an earlier question: `placeholderData` of the query. */
  isPlaceholderData: boolean;
};

/**
 * Defers the data of a query of a view. They are outdated while they answer another question than
 * `question`, which names all that the query depends on; not when its answer has been read again.
 */
export function useDeferredData<Data>(
  { data, isPlaceholderData }: Fetched<Data>,
  view: string,
  question: string,
): { data: Data | undefined; isOutdated: boolean } {
  const answered = isPlaceholderData ? undefined : question;
  const present = useMemo(() => ({ data, view, answered }), [data, view, answered]);
  const deferred = useDeferredValue(present);
  return {
    // Those of another view are not shown as this one's, and the first are what people wait for.
    data: deferred.view === view ? (deferred.data ?? data) : data,
    isOutdated: deferred.answered !== question,
  };
}

/** Renders the rows of a query, or that there are none. */
export const QueryList = <Row,>({
  query,
  label,
  empty: { title, hint },
  children,
}: {
  query: QueryState<readonly Row[]>;
  label: string;
  empty: { title: string; hint?: string };
  children: (rows: readonly Row[]) => ReactNode;
}) => (
  <QueryBoundary query={query} label={label}>
    {(rows) =>
      rows.length === 0 ? (
        <Empty title={title}>{hint !== undefined && <p>{hint}</p>}</Empty>
      ) : (
        children(rows)
      )
    }
  </QueryBoundary>
);

/** A script that is loaded when it is first needed. */
export class Script<Part> {
  readonly #load: () => Promise<Part>;
  #part: Part | undefined;

  constructor(load: () => Promise<Part>) {
    this.#load = load;
  }

  /** What it exports; undefined until it is loaded. */
  get part(): Part | undefined {
    return this.#part;
  }

  async load(): Promise<Part> {
    return (this.#part ??= await this.#load());
  }
}

/**
 * A component of a script, and `Meanwhile` until it is loaded; says so if it cannot be loaded,
 * which only another load of the page changes. With `lazy` and Suspense, React would go on showing
 * what is there meanwhile for 300 ms.
 */
export const lazyPart = <Part, Props extends object>(
  script: Script<Part>,
  componentOf: (part: Part) => ComponentType<Props>,
  Meanwhile: ComponentType<Props>,
): FunctionComponent<Props> =>
  function LazyPart(props: Props) {
    const [part, setPart] = useState(() => script.part);
    const [error, setError] = useState<unknown>();
    useEffect(() => void script.load().then((loaded) => setPart(() => loaded), setError), []);
    if (error !== undefined) return <ErrorState error={error} onRetry={() => location.reload()} />;
    const Component = part === undefined ? Meanwhile : componentOf(part);
    return <Component {...props} />;
  };
