/**
 * The table of budgets: what an account, and without one a network, a key, a user or a session, may
 * take of what costs. Work for an account is taken from a budget by its name; new work needs a line
 * here. `docs/budgets.md` is printed from this file.
 */

export const PLANS = ["free", "pro", "business", "enterprise"] as const;

export type Plan = (typeof PLANS)[number];

/** Multiples of a free account's budgets that the other plans have. */
type Factors = Readonly<Record<Exclude<Plan, "free">, number>>;

/** As many times more as they have calls per minute. */
const AS_CALLS: Factors = { pro: 5, business: 1_000 / 60, enterprise: 1_000 / 60 };

/** For bytes that are kept: larger plans import and change many links. */
const AS_LINKS: Factors = { pro: 10, business: 100, enterprise: 100 };

/** For rows that are created in bulk, by the hour. */
const BY_PLAN: Factors = { pro: 4, business: 40, enterprise: 400 };

/** The capacity of a machine: cores for each of the programs, and bytes on its disks. */
export const RESOURCES = ["postgres", "clickhouse", "api", "disk"] as const;

export type Resource = (typeof RESOURCES)[number];

export type AccountBudget = {
  /** The unit, in the plural. */
  unit: string;
  /** Completes the error of an account that has used it up: "Rate limit exceeded: …". */
  exceeded: string;
  /** Of a free account: what it may take at once, and what it gets back per second. */
  atOnce: number;
  perSecond: number;
  factors: Factors;
  /** Core-seconds that a unit costs, or bytes on a disk. */
  cost: { of: Resource; each: number };
  /** What takes from it. */
  takenBy: string;
  beyond: string;
  /** Who sees it: callers who can meet it, or operators alone. */
  seenBy: "caller" | "operator";
};

const MEBIBYTE = 1024 ** 2;

const REFUSED = "429 with the budget's name, and when to try again";

/**
 * Budgets of accounts, their modes together, in the memory of each API process unless the text says
 * otherwise. One that has been quiet may take what it has saved at once. A call begins while
 * something is left, and may overdraw it: then the account waits until that has been refilled.
 */
export const ACCOUNT_BUDGETS = {
  dashboard_requests: {
    unit: "requests",
    exceeded: "too many requests of the dashboard",
    atOnce: 1_200,
    perSecond: 10,
    factors: AS_CALLS,
    cost: { of: "api", each: 0.005 },
    takenBy: "every call of the dashboard in an account, of all its users and sessions",
    beyond: REFUSED,
    seenBy: "caller",
  },
  statistics: {
    unit: "milliseconds of ClickHouse",
    exceeded: "statistics took too long to compute",
    atOnce: 20_000,
    perSecond: 20,
    factors: AS_CALLS,
    cost: { of: "clickhouse", each: 0.001 },
    takenBy: "statistics, failures, single clicks and exports that callers read",
    beyond: REFUSED,
    seenBy: "caller",
  },
  shared_statistics: {
    unit: "milliseconds of ClickHouse",
    exceeded: "shared statistics took too long to compute",
    atOnce: 10_000,
    perSecond: 20,
    factors: AS_CALLS,
    cost: { of: "clickhouse", each: 0.001 },
    takenBy:
      "strangers who read all of an account's shares; the last half is kept for the named periods",
    beyond: REFUSED,
    seenBy: "caller",
  },
  report_statistics: {
    unit: "milliseconds of ClickHouse",
    exceeded: "reports took too long to compute",
    atOnce: 20_000,
    perSecond: 2,
    factors: AS_CALLS,
    cost: { of: "clickhouse", each: 0.001 },
    takenBy: "reports, those that are due and those that callers request",
    beyond: "a report that is due is made later; a caller gets 429",
    seenBy: "caller",
  },
  requested_reports: {
    unit: "reports",
    exceeded: "too many reports requested",
    atOnce: 10,
    perSecond: 10 / 3_600,
    factors: AS_CALLS,
    cost: { of: "api", each: 0.05 },
    takenBy: "reports that callers request; each can mail many people",
    beyond: REFUSED,
    seenBy: "caller",
  },
  listed_links: {
    unit: "links",
    exceeded: "lists that read too many links",
    atOnce: 1_000_000,
    perSecond: 6_000,
    factors: AS_CALLS,
    // A link that a list by page matches, counts or passes over.
    cost: { of: "postgres", each: 6e-6 },
    takenBy: "lists of links by page, and tags with the clicks of their links",
    beyond: REFUSED,
    seenBy: "caller",
  },
  changed_links: {
    unit: "links",
    exceeded: "too many links changed at once",
    // One request may change the most at once.
    atOnce: 10_000,
    perSecond: 60,
    factors: AS_CALLS,
    // With what follows from it: vacuum.
    cost: { of: "postgres", each: 0.33e-3 },
    takenBy:
      "every link that is created, changed or deleted, also through a tag or a domain's case",
    beyond: `${REFUSED}; a change by a tag under way stops with \`done: false\``,
    seenBy: "caller",
  },
  bulk_rows: {
    unit: "rows",
    exceeded: "too many links created in bulk",
    atOnce: 500,
    perSecond: 500 / 3_600,
    factors: BY_PLAN,
    // To read and check a row; what it writes is in `changed_links`.
    cost: { of: "api", each: 0.2e-3 },
    takenBy:
      "links that are created in bulk, by an import or by your own id, beside the daily quota; rows that are refused and replays take nothing",
    beyond: REFUSED,
    seenBy: "caller",
  },
  checked_aliases: {
    unit: "aliases",
    exceeded: "too many aliases checked",
    // An import is checked as a whole before it begins, some times over.
    atOnce: 10_000,
    perSecond: 1_000 / 3_600,
    factors: BY_PLAN,
    // As a row in bulk. What is bounded is how quickly somebody learns the aliases of others.
    cost: { of: "api", each: 0.2e-3 },
    takenBy: "aliases of rows that are checked without creating them",
    beyond: REFUSED,
    seenBy: "caller",
  },
  ledger_bytes: {
    unit: "bytes",
    exceeded: "too much written into the events of the account",
    atOnce: 64 * MEBIBYTE,
    perSecond: 2 * 1024,
    factors: AS_LINKS,
    cost: { of: "disk", each: 1 },
    takenBy:
      "every event of the account, whoever caused it, and a delivery to each of its webhooks",
    beyond: `${REFUSED}, and nothing is changed; what happens by itself is recorded, and taken`,
    seenBy: "caller",
  },
  click_event_bytes: {
    unit: "bytes",
    exceeded: "too many clicks recorded as events",
    // By the day, in PostgreSQL: strangers decide how many clicks there are.
    atOnce: 64 * MEBIBYTE,
    perSecond: 0,
    factors: AS_LINKS,
    cost: { of: "disk", each: 1 },
    takenBy: "events `clicks.recorded`, where somebody reads them; a whole budget every day (UTC)",
    beyond: "clicks are counted but not recorded; an event `clicks.left_out` says how many",
    seenBy: "operator",
  },
  deliveries: {
    unit: "deliveries",
    exceeded: "too many deliveries to webhooks",
    atOnce: 1_000,
    perSecond: 20,
    factors: AS_CALLS,
    // The delivery, what came of it, and vacuum; a receiver may be somebody who wants none.
    cost: { of: "postgres", each: 0.5e-3 },
    takenBy: "attempts to deliver to all of an account's webhooks; each worker counts its own",
    beyond: "deliveries wait in order until there is something of it again",
    seenBy: "operator",
  },
  link_passwords: {
    unit: "passwords",
    exceeded: "too many passwords set",
    // As many as a free account may create within an hour, so that only changes have to wait.
    atOnce: 100,
    perSecond: 0.75,
    factors: AS_CALLS,
    cost: { of: "api", each: 0.06 },
    takenBy: "passwords that are set on links and shares: each is hashed",
    beyond: REFUSED,
    seenBy: "caller",
  },
  images: {
    unit: "milliseconds of drawing",
    exceeded: "images took too long to draw",
    atOnce: 20_000,
    perSecond: 50,
    factors: AS_CALLS,
    cost: { of: "api", each: 0.001 },
    takenBy: "logos that are uploaded, and QR codes with shapes or a logo",
    beyond: REFUSED,
    seenBy: "caller",
  },
} as const satisfies Record<string, AccountBudget>;

export type AccountBudgetName = keyof typeof ACCOUNT_BUDGETS;

// Object.keys loses the type of the keys; the table has no others.
export const ACCOUNT_BUDGET_NAMES = Object.keys(ACCOUNT_BUDGETS) as AccountBudgetName[];

/** Budgets of ClickHouse's time. */
export type StatisticsBudget = "statistics" | "shared_statistics" | "report_statistics";

/** The budgets of an account. */
export type Bounds = { atOnce: number; perSecond: number };

/** The budgets of the accounts of a plan; an unknown plan has those of a free account. */
export function boundsOf(name: AccountBudgetName, plan: string): Bounds {
  const { atOnce, perSecond, factors }: AccountBudget = ACCOUNT_BUDGETS[name];
  const factor = isPaid(plan) ? factors[plan] : 1;
  return { atOnce: atOnce * factor, perSecond: perSecond * factor };
}

const isPaid = (plan: string): plan is keyof Factors =>
  plan !== "free" && PLANS.some((known) => known === plan);

export type Window = {
  /** Whom it counts. */
  by: "network" | "site" | "key" | "account" | "user" | "device";
  /** The name in the headers that describe it. */
  header: string;
  limit: number;
  seconds: number;
  takenBy: string;
};

/** An attempt at a password counts in PostgreSQL, for all processes together. */
const PASSWORD_SECONDS = 900;

/**
 * Windows of those that have no account, or before it is known: requests in a number of seconds, in
 * the memory of each API process unless the text says otherwise. Beyond them: 429. A network's IPv6
 * site has more of each.
 */
export const WINDOWS = {
  anonymous_requests: {
    by: "network",
    header: "address",
    limit: 60,
    seconds: 60,
    takenBy: "requests without a valid key or session",
  },
  unknown_keys: {
    by: "network",
    header: "address",
    limit: 60,
    seconds: 60,
    takenBy: "well-formed keys that do not exist: each costs a query",
  },
  refused_keys: {
    by: "network",
    header: "address",
    // More than one such key may make, so that a program that was forgotten keeps nobody else out.
    limit: 1_000,
    seconds: 60,
    takenBy: "requests with keys that no longer work",
  },
  share_password_tries: {
    by: "network",
    header: "address",
    limit: 20,
    seconds: 900,
    takenBy: "wrong passwords of shared statistics",
  },
  share_password_checks: {
    by: "network",
    header: "address",
    limit: 100,
    seconds: 300,
    takenBy: "passwords of shared statistics that are compared, right or wrong",
  },
  limits_readings: {
    by: "account",
    header: "limits",
    limit: 50,
    seconds: 3,
    takenBy: "readings of the limits, which consume no request",
  },
  refused_requests: {
    by: "key",
    header: "refused",
    limit: 100,
    seconds: 10,
    takenBy: "requests that are refused because of their key",
  },
  user_requests: {
    by: "user",
    header: "user",
    limit: 1_200,
    seconds: 60,
    takenBy: "every call of the dashboard, in however many sessions",
  },
  link_reports: {
    by: "network",
    header: "address",
    limit: 10,
    seconds: 3_600,
    takenBy: "reports of links by their visitors",
  },
  key_reports: {
    by: "network",
    header: "address",
    limit: 30,
    seconds: 3_600,
    takenBy: "reports of keys by whoever finds them",
  },
  password_resets: {
    by: "network",
    header: "address",
    limit: 20,
    seconds: 900,
    takenBy: "requests for a mail with a link to set a new password",
  },
  password_resets_of_user: {
    by: "user",
    header: "links to set a new password",
    limit: 3,
    seconds: 3_600,
    takenBy:
      "the same for one e-mail address, whether somebody has it or not; counted in PostgreSQL, for all processes together",
  },
  passwords_of_network: {
    by: "network",
    header: "address",
    limit: 30,
    seconds: PASSWORD_SECONDS,
    takenBy: "wrong passwords at sign-in, of all users; counted in PostgreSQL",
  },
  passwords_of_site: {
    by: "site",
    header: "site",
    limit: 90,
    seconds: PASSWORD_SECONDS,
    takenBy: "the same of an IPv6 site, which has many networks",
  },
  passwords_of_user_and_network: {
    by: "user",
    header: "user from here",
    // Half of the user's, so that one network cannot exhaust them.
    limit: 5,
    seconds: PASSWORD_SECONDS,
    takenBy: "the same of one network, for one user",
  },
  passwords_of_user: {
    by: "user",
    header: "user",
    limit: 10,
    seconds: PASSWORD_SECONDS,
    takenBy: "the same for one user, wherever they are made",
  },
  passwords_of_device: {
    by: "device",
    header: "device",
    limit: 10,
    seconds: PASSWORD_SECONDS,
    takenBy:
      "the same for one user on a device on which they have signed in before: only these count there",
  },
  second_factor_codes: {
    by: "user",
    header: "uses of a code",
    limit: 1,
    // A code is right for three steps of half a minute (RFC 6238 §5.2).
    seconds: 120,
    takenBy: "each right code of a second factor: a used one is refused; counted in PostgreSQL",
  },
  wrong_codes_of_user: {
    by: "user",
    header: "codes",
    limit: 10,
    seconds: PASSWORD_SECONDS,
    takenBy: "wrong codes of a second factor, however many are sent at once; counted in PostgreSQL",
  },
  correct_passwords: {
    by: "user",
    header: "correct passwords of a user",
    limit: 60,
    seconds: 900,
    takenBy: "right passwords at sign-in: each takes some time of a core, and counts as no guess",
  },
} as const satisfies Record<string, Window>;

export type WindowName = keyof typeof WINDOWS;

/**
 * KiB of files that a network may fetch: at once the dashboard's first visits of hundreds of people
 * behind one address, which come back within about a minute.
 */
export const NETWORK_FILES: Bounds = { atOnce: 256 * 1024, perSecond: 4 * 1024 };
