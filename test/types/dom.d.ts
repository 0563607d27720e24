/**
 * The parts of the DOM that tests use in functions that run in a page. React's types declare
 * `Element` without any.
 */
interface Element {
  readonly textContent: string | null;
  readonly firstChild: Element | null;
  getAttribute(name: string): string | null;
  getBoundingClientRect(): { bottom: number };
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
}
