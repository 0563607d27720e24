/** Asks before what a user has entered is thrown away: by closing its form, by leaving its page, or with the browser. */
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { ConfirmDialog } from "./dialog.tsx";

/**
 * Guards input: `isDirty` says, when it is called, whether there is any that is not saved. Call `guard` with what would
 * throw it away, such as closing a form; that happens at once where nothing is dirty, and otherwise when the user agrees.
 * Render `question`, which asks.
 */
export function useUnsavedGuard(isDirty: () => boolean): {
  guard: (discard: () => void) => void;
  question: ReactNode;
} {
  /** What the user wants to do, until they have been asked. */
  const [wanted, setWanted] = useState<{ discard: () => void }>();
  const agreed = useRef(false);
  const stopUnload = useEffectEvent((event: BeforeUnloadEvent): void => {
    if (isDirty() && !agreed.current) event.preventDefault();
  });
  const stopNavigation = useEffectEvent((event: NavigateEvent): void => {
    const redo = findRedo(event);
    if (redo === undefined || !isDirty() || agreed.current) return;
    event.preventDefault();
    setWanted({ discard: redo });
  });
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => stopUnload(event);
    const onNavigate = (event: NavigateEvent) => stopNavigation(event);
    window.addEventListener("beforeunload", onUnload);
    // Browsers without it still ask before the whole page is left.
    const navigation = "navigation" in window ? window.navigation : undefined;
    navigation?.addEventListener("navigate", onNavigate);
    return () => {
      window.removeEventListener("beforeunload", onUnload);
      navigation?.removeEventListener("navigate", onNavigate);
    };
  }, []);
  return {
    guard: (discard) => (isDirty() ? setWanted({ discard }) : discard()),
    question: wanted !== undefined && (
      <ConfirmDialog
        title="Discard your changes?"
        action="Discard"
        cancel="Keep editing"
        onClose={() => setWanted(undefined)}
        onConfirm={() => {
          agreed.current = true;
          // The question goes first: a dialog with an open one within it cannot give the focus back.
          flushSync(() => setWanted(undefined));
          wanted.discard();
        }}
      >
        <p>What you have entered is not saved.</p>
      </ConfirmDialog>
    ),
  };
}

/** Returns what repeats a navigation to another page of the dashboard; undefined for one that need or can not be stopped. */
function findRedo(event: NavigateEvent): (() => void) | undefined {
  const { destination, navigationType, cancelable } = event;
  const isOtherPage = new URL(destination.url).pathname !== location.pathname;
  if (!isOtherPage || !destination.sameDocument || !cancelable) return undefined;
  // Through the history, which the router observes.
  return navigationType === "traverse"
    ? () => void window.navigation.traverseTo(destination.key)
    : () => history.pushState(null, "", destination.url);
}
