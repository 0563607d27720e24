/** Entry point of the application. */
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";

import { StatisticsLanguageContext } from "../../shared/statistics/language.ts";
import { App } from "./app.tsx";
import { checkSession } from "./data/session.ts";
import {
  getLanguage,
  onLanguageChange,
  setLanguage,
  statisticsLanguage,
} from "./languages/translate.ts";
import { applyTheme, preferredLanguage, readTheme } from "./preferences.ts";
import { ToastRegion } from "./ui/toast.tsx";

const onError = (error: unknown): void => checkSession(queryClient, error);

const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: { retry: false, staleTime: 15_000, refetchOnWindowFocus: false },
  },
});

/** The whole page, which is rendered again when its language changes. */
function Root() {
  useSyncExternalStore(onLanguageChange, getLanguage);
  return (
    <StatisticsLanguageContext value={statisticsLanguage()}>
      <QueryClientProvider client={queryClient}>
        <App />
        <ToastRegion />
      </QueryClientProvider>
    </StatisticsLanguageContext>
  );
}

/** Renders the page, in its language from the beginning. */
async function start(): Promise<void> {
  applyTheme(readTheme());
  // Without its catalogue the page is in English.
  await setLanguage(preferredLanguage()).catch(() => undefined);
  const root = document.getElementById("root");
  if (root === null) return;
  createRoot(root).render(
    <StrictMode>
      <Root />
    </StrictMode>,
  );
}

void start();
