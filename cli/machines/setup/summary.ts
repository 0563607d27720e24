/** What setup prints when it is done: where everything is, and how to make the first link. */
import type { Created } from "./first-account.ts";
import type { Settings } from "./settings.ts";

/** For the operator's firewall, which setup leaves alone. */
const OPEN_PORTS = {
  none: "80 (or 443, of the proxy in front)",
  files: "443",
  certbot: "80 and 443",
};

export function formatSummary(settings: Settings, { key, password, restored }: Created): string {
  const { DOMAIN, EMAIL, ROLE } = settings;
  const short = `https://${DOMAIN}`;
  const api = `https://api.${DOMAIN}`;
  if (ROLE !== "stores")
    return `
  Shorthop is ready on this host: add its address to the load balancer or the DNS of ${DOMAIN}.
${describeFirewall(settings)}`;
  const shownKey = key ?? "KEY";
  return `
  Shorthop is ready.${restored === undefined ? "" : ` The backup was restored:\n\n${restored.replaceAll(/^(?=.)/gm, "    ")}`}

    API           ${api}/v1
    Short links   ${short}
    Key           ${key ?? "as printed before; another: shorthop keys create"}
    Dashboard     https://app.${DOMAIN}
                  ${password === undefined ? "another password: shorthop users set-password" : `sign in as ${EMAIL}, password ${password}`}

  The key and the password are not shown again.

  Create a short link, also on this host before the names are public:

    curl -X POST http://127.0.0.1:3000/v1/links \\
      -H 'Authorization: Bearer ${shownKey}' \\
      -H 'Content-Type: application/json' \\
      -d '{"url": "https://example.com/hello", "alias": "hello"}'

  Follow it, then look at its clicks (LINK_ID is the "id" above):

    curl -i ${short}/hello
    curl '${api}/v1/analytics/LINK_ID?period=24h' \\
      -H 'Authorization: Bearer ${shownKey}'

  Keep a copy of /etc/shorthop/secrets.env elsewhere. Next: a proxy with TLS for api.${DOMAIN} and app.${DOMAIN},
  GeoIP data, and backups (/usr/share/doc/shorthop/docs/operations.md).
${describeFirewall(settings)}`;
}

/** Only a suggestion: a wrong firewall locks the operator out. */
function describeFirewall({ ROLE, TLS, STORES }: Settings): string {
  const stores =
    ROLE === "stores" && STORES !== "127.0.0.1"
      ? `, and 4222, 5432 and 8123 at ${STORES} to the hosts of Shorthop`
      : "";
  return `
  Firewall: open ${OPEN_PORTS[TLS]} to visitors${stores}; nothing else.
`;
}
