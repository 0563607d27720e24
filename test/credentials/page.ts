/**
 * Writes docs/credentials.md from the tables that the tests try: `bun test/credentials/page.ts`.
 */
import { join } from "node:path";

import { CLICKHOUSE_RIGHTS, CLICKHOUSE_USERS } from "./clickhouse-rights.ts";
import { PRIVATE_FILES } from "./files.ts";
import { CALLS } from "./jetstream-rights.ts";
import { MESSAGES, NATS_USERS } from "./nats-rights.ts";
import { POSTGRES_RIGHTS, POSTGRES_USERS } from "./postgres-rights.ts";
import { DIRECTIONS, REGION_RIGHTS } from "./region-rights.ts";
import { isAllowed, type Right } from "./rights.ts";

export const PAGE = join(import.meta.dir, "../../docs/credentials.md");

/** A table with aligned columns, as the formatter writes it. */
function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, i) =>
    Math.max(3, ...[header, ...rows].map((row) => row[i]?.length ?? 0)),
  );
  const format = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (cells[i] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [format(header), format(rule), ...rows.map(format)].join("\n");
}

const formatRights = <User extends string>(
  users: readonly User[],
  rights: readonly Right<User>[],
): string =>
  formatTable(
    ["", ...users.map((user) => (user.includes(" ") ? user : `\`${user}\``)), "Why"],
    rights.map((right) => [
      right.what,
      ...users.map((user) => (isAllowed(right, user) ? "yes" : "–")),
      right.why,
    ]),
  );

const formatFiles = (): string =>
  formatTable(
    ["Path", "Content", "Owner", "Mode", "Set by"],
    PRIVATE_FILES.map(({ path, content, owner, mode, setBy }) => [
      path,
      content,
      owner,
      mode,
      `\`${setBy.file}\``,
    ]),
  );

const OTHER_SECRETS = [
  [
    "`DASHBOARD_SECRET`",
    "API",
    "sessions of any user of the dashboard; together with the database, second factors",
  ],
  [
    "`OIDC_CLIENT_SECRET`",
    "API",
    "speaks to the provider as this installation; of use only with codes that it sends here",
  ],
  ["password in `SMTP_URL`", "API", "sends mails as the installation"],
  [
    "`LINKS_SIGNING_KEY`",
    "API",
    "together with the password of a NATS user, any link: redirectors believe what it signs",
  ],
  ["`LINK_UNLOCK_SECRET`", "redirectors", "any link that has a password"],
  [
    "`WEBHOOKS_SECRET`",
    "API, workers",
    "together with the database, events that the receivers of [webhooks](webhooks.md) believe",
  ],
  [
    "`VISITOR_HASH_SECRET`",
    "workers",
    "tests whether an address has followed a link ([privacy](privacy.md))",
  ],
  [
    "password of `route` (`routes.conf`)",
    "NATS servers",
    "everything in NATS, together with the certificate of a server",
  ],
  [
    "`S3_SECRET_ACCESS_KEY` of redirectors",
    "redirectors",
    "reads all links; give it only rights to list and read",
  ],
  [
    "`S3_SECRET_ACCESS_KEY` of the API",
    "API",
    "the same, and replaces the images from which new redirector hosts start",
  ],
];

/** The text of the page. */
export const renderPage = (): string => `# Credentials

This page lists every user and secret that an installation has, and what each may do. "–" means that the server refuses
it. The page is made from the tables in \`test/credentials\` (\`bun test/credentials/page.ts\`), and
\`test/scenarios/credentials.test.ts\` tries every cell with the shipped files on real servers: what is allowed as well as
what is refused.

A process has only its own passwords: \`/etc/shorthop/api.env\` those of the API, and so on. \`migrate.env\` has those of
the owners of the schemas, for \`shorthop migrate\` and \`shorthop backup\`. The command line uses the API's users.

## NATS

\`deploy/nats/users.conf\`, and \`far.conf\` in a far region, where \`worker\` and \`api\` do not exist. \`operator\`
may do everything in its region; it is for people, and no process has its password. No user may use the server's own
account.

Permissions cover what a user sends. JetStream itself replies to any subject that a request names. So each of these
passwords is enough to overwrite links and to empty streams, in spite of the tables ([security](security.md)).

### Messages

${formatRights(NATS_USERS, MESSAGES)}

### Calls of JetStream

${formatRights(NATS_USERS, CALLS)}

### Between regions

The user \`region\` (\`deploy/nats/hub.conf\`) only connects servers of far regions with the hub. Only these messages
cross, from any sender:

${formatRights(DIRECTIONS, REGION_RIGHTS)}

## PostgreSQL

The roles of \`deploy/postgres/roles.sql\` and \`grants.sql\`; \`shorthop\` owns the database and its tables. \`standby\` exists
only on [three machines](three-machines.md). No role of these is a superuser.

${formatRights(POSTGRES_USERS, POSTGRES_RIGHTS)}

## ClickHouse

The users of \`deploy/clickhouse/users.xml\`. \`owner\` owns the tables. The server's own user \`default\` is the
operator's: give it a password, or let it connect only from its host.

${formatRights(CLICKHOUSE_USERS, CLICKHOUSE_RIGHTS)}

The test gives the grants and profile of each user to the engine of the local stack, which has no logins. So it does not
try passwords.

## Files

${formatFiles()}

All other files of the packages belong to root, and everybody may read them. Processes log to the journal of systemd,
without secrets and without data of people. Each runs as a user of its own (\`DynamicUser\`) and can write nothing
else. What downloads GeoIP data (\`shorthop-geoip.service\`) has none of the secrets.

In containers, each service gets only the secrets that it needs (\`deploy/docker/compose.test.ts\`). There, the
superuser of PostgreSQL creates the roles; no process has its password. ClickHouse's \`default\` can only connect from
its own container.

The local stack (\`npm start\`) has one user for each store, with a random password in a file that only its user can
read.

## Other secrets

${formatTable(["Secret", "Who has it", "What it is worth"], OTHER_SECRETS)}
`;

if (import.meta.main) await Bun.write(PAGE, renderPage());
