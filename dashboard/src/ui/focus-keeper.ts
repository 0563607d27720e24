/**
 * Keeps the focus in the page: if the focused element disappears, the browser moves the focus to
 * the body, at the page's start.
 */

/**
 * Watches the document. When the focused element is removed, its closest focusable ancestor gets
 * the focus, or `fallback`. Returns a function that ends the watch.
 */
export function keepFocus(fallback: () => HTMLElement | null): () => void {
  /** The focused element and its ancestors, innermost first. */
  let path: Element[] = [];
  const remember = ({ target }: FocusEvent): void => {
    path = [];
    for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) {
      path.push(at);
    }
  };
  const observer = new MutationObserver(() => {
    if (path[0] === undefined || path[0].isConnected) return;
    if (document.activeElement !== null && document.activeElement !== document.body) return;
    const heir = path.find((element) => element.isConnected && element.hasAttribute("tabindex"));
    path = [];
    (heir instanceof HTMLElement ? heir : fallback())?.focus();
  });
  document.addEventListener("focusin", remember);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", remember);
    observer.disconnect();
  };
}
