/** Entry point of the page. */
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app.tsx";
import { isSignedOut } from "./data/errors.ts";
import { SESSION_KEY } from "./data/session.ts";
import { applyTheme, readTheme } from "./ui/theme.ts";
import { ToastRegion } from "./ui/toast.tsx";

const queryClient = new QueryClient({
  queryCache: new QueryCache({
    // When any query finds the session expired, show the sign-in page.
    onError(error) {
      if (isSignedOut(error)) queryClient.setQueryData(SESSION_KEY, null);
    },
  }),
  defaultOptions: {
    queries: { retry: false, staleTime: 15_000, refetchOnWindowFocus: false },
  },
});

applyTheme(readTheme());
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App />
        <ToastRegion />
      </QueryClientProvider>
    </StrictMode>,
  );
}
