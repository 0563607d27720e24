/** The names of systems and browsers: people, vendors and user agents have others than we count. */

/** By other names in lower case. */
const SYSTEMS: ReadonlyMap<string, string> = new Map([
  ["android", "Android"],
  ["webos", "webOS"],
  ["iphone", "iOS"],
  ["iphone os", "iOS"],
  ["ipad", "iOS"],
  ["ipados", "iOS"],
  ["mac", "macOS"],
  ["mac os", "macOS"],
  ["mac os x", "macOS"],
  ["macos x", "macOS"],
  ["os x", "macOS"],
  ["chrome os", "ChromeOS"],
  ["chromium os", "ChromeOS"],
]);

/** By other names in lower case. */
const BROWSERS: ReadonlyMap<string, string> = new Map([
  ["google chrome", "Chrome"],
  ["mozilla firefox", "Firefox"],
  ["apple safari", "Safari"],
  ["microsoft edge", "Edge"],
  ["internet explorer", "IE"],
  ["microsoft internet explorer", "IE"],
  ["samsung browser", "Samsung Internet"],
]);

/** A version at the end, as of Windows 10 or Chrome 120: none is counted. */
const VERSION = /(?: (?:\d[\w.]*|XP|Vista|NT)){1,3}$/i;

/** The name of a system as analytics and rules have it; one that is not known stays. */
export const systemName = (text: string): string => nameIn(SYSTEMS, text);

/** As {@link systemName}, of a browser. */
export const browserName = (text: string): string =>
  nameIn(BROWSERS, text.replace(/^(?:Mobile +)+/i, "") || text);

function nameIn(names: ReadonlyMap<string, string>, text: string): string {
  const name = text.replace(VERSION, "") || text;
  return names.get(name.toLowerCase()) ?? name;
}
