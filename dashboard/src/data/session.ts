/** The session, the account and mode that the page shows, and queries of what they have. */
import {
  type QueryClient,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
} from "@tanstack/react-query";
import { createContext, useContext } from "react";

import type { Client } from "../../../clients/typescript/src/index.ts";
import type { Account, Session } from "../../../shared/contracts/user-responses.ts";
import { isSignedOut } from "../languages/errors.ts";
import { forgetEarlyResponses, getClient, getJson, post } from "./http.ts";
import type { AccountScope, Mode } from "./scope.ts";

export const SESSION_KEY = ["session"];

/** The session of the page, and whether it has ended since the page has shown something with it. */
type KnownSession = { session: Session; hasEnded: boolean };

/**
 * Queries the session; null when nobody has been signed in. One that has ended stays, so that what
 * was typed is still there when its user has signed in again, here or in another tab.
 */
export const useSession = () =>
  useQuery<KnownSession | null>({
    queryKey: SESSION_KEY,
    staleTime: 60_000,
    refetchOnWindowFocus: ({ state: { data } }) => data?.hasEnded === true && "always",
    async queryFn({ client }) {
      const before = client.getQueryData<KnownSession | null>(SESSION_KEY) ?? null;
      try {
        const session = await getJson<Session>("/auth/session");
        if (before !== null && before.session.user.id !== session.user.id) {
          // Another user sees nothing of what this one did.
          location.reload();
          return before;
        }
        if (before?.hasEnded === true) void client.invalidateQueries({ predicate: isNoSession });
        return { session, hasEnded: false };
      } catch (error) {
        if (!isSignedOut(error)) throw error;
        forgetEarlyResponses();
        return before === null ? null : { ...before, hasEnded: true };
      }
    },
  });

const isNoSession = ({ queryKey: [name] }: { queryKey: readonly unknown[] }): boolean =>
  name !== SESSION_KEY[0];

/** Asks whether the session has ended, if an error says so. */
export function checkSession(client: QueryClient, error: unknown): void {
  const known = client.getQueryData<KnownSession | null>(SESSION_KEY);
  if (isSignedOut(error) && known?.hasEnded === false)
    void client.invalidateQueries({ queryKey: SESSION_KEY });
}

/**
 * Returns a function that ends this session, or all sessions of the user, and leaves the page. Who
 * stays to keep what was typed, or comes back to it, must sign in again.
 */
export function useSignOut() {
  const client = useQueryClient();
  return async (everywhere = false): Promise<void> => {
    const path = everywhere ? "/auth/sign-out-everywhere" : "/auth/sign-out";
    const { url } = await post<{ url?: string }>(path).catch((error: unknown) => {
      // This session has ended already; the others may not have.
      if (isSignedOut(error) && !everywhere) return { url: undefined };
      throw error;
    });
    client.setQueryData<KnownSession | null>(
      SESSION_KEY,
      (known) => known && { ...known, hasEnded: true },
    );
    // Where the provider ends its session, and leads back.
    if (url === undefined) location.reload();
    else location.assign(url);
  };
}

/** The current account and mode, with the session. */
export type AccountContext = {
  session: Session;
  account: Account;
  mode: Mode;
  scope: AccountScope;
};

export const AccountReactContext = createContext<AccountContext | undefined>(undefined);

/** Returns the account context. Throws outside of an account's routes. */
export function useAccountContext(): AccountContext {
  const context = useContext(AccountReactContext);
  if (context === undefined) throw new Error("There is no account context.");
  return context;
}

/** Returns a client for the API of the account and mode. */
export const useClient = (): Client => getClient(useAccountContext().scope);

/** Queries the API of the account and mode. The name begins the key; the rest is the question. */
export function useApiQuery<Data>(
  [name, ...question]: readonly [name: string, ...unknown[]],
  read: (client: Client, signal: AbortSignal) => Promise<Data>,
  options: Omit<UseQueryOptions<Data>, "queryKey" | "queryFn"> = {},
) {
  const { scope } = useAccountContext();
  return useQuery<Data>({
    queryKey: [name, scope, ...question],
    queryFn: ({ signal }) => read(getClient(scope), signal),
    ...options,
  });
}

/** Whether the user's role may change links and domains. */
export const useCanWrite = (): boolean => useAccountContext().account.role !== "viewer";
