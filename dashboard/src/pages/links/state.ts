/** Describes the current state of a link for its visitors, in plain words. */
import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { formatDate, formatDateTime, pluralize } from "../../ui/format.ts";

export type LinkState = {
  /** One or two words. */
  label: string;
  /** An explanation; absent where the label is enough. */
  meaning?: string;
  /** Visitors are not redirected. */
  bad?: true;
};

type State = Pick<
  ListedLink,
  "status" | "archived" | "starts_at" | "expires_at" | "expired_url" | "clicks_left"
>;

/** The state by the link's status; undefined for an active link. */
const STATES: Readonly<
  Record<NonNullable<State["status"]>, (link: State) => LinkState | undefined>
> = {
  taken_down: () => ({
    label: "Taken down",
    meaning:
      "The operator of this service has taken down this link, or a site that it redirects to. Visitors see a page that says so. Only the operator can lift this.",
    bad: true,
  }),
  disabled: () => ({
    label: "Disabled",
    meaning: "For visitors, the link does not exist.",
    bad: true,
  }),
  scheduled: ({ starts_at = "" }) => ({
    label: `From ${formatDate(starts_at)}`,
    meaning: `Until ${formatDateTime(starts_at)} the link does not exist for visitors.`,
  }),
  expired: ({ expired_url }) => ({
    label: "Expired",
    meaning:
      expired_url === undefined
        ? "Visitors see a page that says so, or get to where the domain’s settings say."
        : `Visitors are redirected to ${expired_url}.`,
    bad: true,
  }),
  limit_reached: ({ expired_url }) => ({
    label: "Limit reached",
    meaning:
      expired_url === undefined
        ? "Visitors see a page that says so."
        : `Visitors are redirected to ${expired_url}.`,
    bad: true,
  }),
  active: ({ expires_at }) =>
    expires_at === null ? undefined : { label: `Until ${formatDate(expires_at)}` },
};

/** Describes the state of a link, the most important first; nothing for an active link. */
export function describeState(link: State, now = Date.now()): LinkState[] {
  const { archived, clicks_left, expires_at } = link;
  const isExpired = expires_at !== null && Date.parse(expires_at) <= now;
  const status = link.status ?? (isExpired ? "expired" : "active");
  const state = STATES[status](link);
  const isLimited = status === "active" && clicks_left !== undefined;
  return [
    ...(state === undefined ? [] : [state]),
    ...(isLimited ? [{ label: `${pluralize(clicks_left, "click")} left` }] : []),
    ...(archived === true
      ? [{ label: "Archived", meaning: "Lists leave it out. It redirects as before." }]
      : []),
  ];
}

type Features = Pick<ListedLink, "has_password" | "rules" | "split" | "confirm">;

/** Names the other features of a link, in one or two words each. */
export function describeFeatures(link: Features): LinkState[] {
  const { has_password, rules = [], split, confirm } = link;
  return [
    ...(has_password === true
      ? [{ label: "Password", meaning: "Visitors must enter a password." }]
      : []),
    ...(rules.length > 0
      ? [
          {
            label: pluralize(rules.length, "rule"),
            meaning:
              "Some visitors are redirected elsewhere, by their device, country or the time.",
          },
        ]
      : []),
    ...(split === undefined
      ? []
      : [{ label: "Split", meaning: "Shares of the visitors are redirected elsewhere." }]),
    ...(confirm === true
      ? [{ label: "Asks first", meaning: "A page with a button comes first." }]
      : []),
  ];
}
