/**
 * Asks before unsaved input is discarded: by closing its form, by leaving its page, or with the
 * browser.
 */
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { t } from "../languages/translate.ts";
import { ConfirmDialog } from "./dialog.tsx";

/**
 * Guards input. `isDirty` returns whether there is unsaved input. Call `guard` with an action that
 * would discard it, such as closing a form. The action runs immediately if nothing is dirty, and
 * otherwise after the user confirms. Render `confirmation`, which asks.
 */
export function useUnsavedGuard(isDirty: () => boolean): {
  guard: (discard: () => void) => void;
  confirmation: ReactNode;
} {
  /** The user's action that waits for confirmation. */
  const [pending, setPending] = useState<{ discard: () => void }>();
  const agreed = useRef(false);
  const stopUnload = useEffectEvent((event: BeforeUnloadEvent): void => {
    if (isDirty() && !agreed.current) event.preventDefault();
  });
  const stopNavigation = useEffectEvent((event: NavigateEvent): void => {
    const redo = findRedo(event);
    if (redo === undefined || !isDirty() || agreed.current) return;
    event.preventDefault();
    setPending({ discard: redo });
  });
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => stopUnload(event);
    const onNavigate = (event: NavigateEvent) => stopNavigation(event);
    window.addEventListener("beforeunload", onUnload);
    // Browsers without it still ask before the user leaves the site.
    const navigation = "navigation" in window ? window.navigation : undefined;
    navigation?.addEventListener("navigate", onNavigate);
    return () => {
      window.removeEventListener("beforeunload", onUnload);
      navigation?.removeEventListener("navigate", onNavigate);
    };
  }, []);
  return {
    guard: (discard) => (isDirty() ? setPending({ discard }) : discard()),
    confirmation: pending !== undefined && (
      <ConfirmDialog
        title={t("ui.unsaved.title")}
        action={t("ui.unsaved.discard")}
        cancel={t("ui.unsaved.keep")}
        onClose={() => setPending(undefined)}
        onConfirm={() => {
          agreed.current = true;
          // Closes the confirmation first: a dialog cannot return the focus while another one is
          // open inside it.
          flushSync(() => setPending(undefined));
          // After the next frame: closing both for one frame takes a phone a third of a second.
          requestAnimationFrame(() => setTimeout(pending.discard));
        }}
      >
        <p>{t("ui.unsaved.text")}</p>
      </ConfirmDialog>
    ),
  };
}

/**
 * Returns a function that repeats a navigation to another page of the dashboard; undefined for one
 * that need not or cannot be stopped.
 */
function findRedo(event: NavigateEvent): (() => void) | undefined {
  const { destination, navigationType, cancelable } = event;
  const isOtherPage = new URL(destination.url).pathname !== location.pathname;
  if (!isOtherPage || !destination.sameDocument || !cancelable) return undefined;
  // Through the history, which the router observes.
  return navigationType === "traverse"
    ? () => void window.navigation.traverseTo(destination.key)
    : () => history.pushState(null, "", destination.url);
}
