/** The session, the account and mode that the page shows, and queries of what they have. */
import { useQuery, useQueryClient, type UseQueryOptions } from "@tanstack/react-query";
import { createContext, useContext } from "react";

import type { Client } from "../../../clients/typescript/src/index.ts";
import type { Account, Session } from "../../../shared/contracts/user-responses.ts";
import { isSignedOut } from "../languages/errors.ts";
import { forgetEarlyResponses, getClient, getJson, post } from "./http.ts";
import type { AccountScope, Mode } from "./scope.ts";

export const SESSION_KEY = ["session"];

/** Queries the session; null when nobody is signed in. */
export const useSession = () =>
  useQuery({
    queryKey: SESSION_KEY,
    staleTime: 60_000,
    async queryFn(): Promise<Session | null> {
      try {
        return await getJson<Session>("/auth/session");
      } catch (error) {
        if (!isSignedOut(error)) throw error;
        forgetEarlyResponses();
        return null;
      }
    },
  });

/** Ends this session, or all sessions of the user, and clears the query cache. */
export function useSignOut() {
  const queryClient = useQueryClient();
  return async (everywhere = false): Promise<void> => {
    const path = everywhere ? "/auth/sign-out-everywhere" : "/auth/sign-out";
    const { url } = await post<{ url?: string }>(path);
    // Where the provider ends its session, and leads back.
    if (url !== undefined) location.assign(url);
    // Shows the sign-in page first, so that no mounted query refetches the data removed next.
    queryClient.setQueryData(SESSION_KEY, null);
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
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
