/** Who has signed in. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext } from "react";

import type { Role } from "../../../shared/contracts/people.ts";
import { isSignedOut } from "./errors.ts";
import { ask, type Mode, type Place, send } from "./http.ts";

type Account = { id: string; name: string; plan: string; role: Role };

export type Session = {
  user: { id: string; email: string; name: string };
  accounts: Account[];
  short_url: string;
};

export const SESSION_KEY = ["session"];

/** Null for whoever has not signed in. */
export const useSession = () =>
  useQuery({
    queryKey: SESSION_KEY,
    staleTime: 60_000,
    async queryFn(): Promise<Session | null> {
      try {
        return await ask<Session>("/auth/session");
      } catch (error) {
        if (isSignedOut(error)) return null;
        throw error;
      }
    },
  });

/** Ends this session, or every one, and forgets what it has shown. */
export function useSignOut() {
  const queryClient = useQueryClient();
  return async (everywhere = false): Promise<void> => {
    await send(everywhere ? "/auth/sign-out-everywhere" : "/auth/sign-out", { method: "POST" });
    // The door first: what is shown must not ask again for what is taken away.
    queryClient.setQueryData(SESSION_KEY, null);
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
  };
}

/** The account and mode that the page shows, with who looks at it. */
export type Here = { session: Session; account: Account; mode: Mode; place: Place };

export const HereContext = createContext<Here | undefined>(undefined);

export function useHere(): Here {
  const here = useContext(HereContext);
  if (here === undefined) throw new Error("This is shown outside of an account.");
  return here;
}

/** Whether the person may change links and domains here. */
export const useMayWrite = (): boolean => useHere().account.role !== "viewer";
