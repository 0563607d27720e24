/** Describes the current state of a link for its visitors, in plain words. */
import type { Link } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";
import { formatDate, formatDateTime } from "../../ui/format.ts";

type LinkState = {
  /** One or two words. */
  label: string;
  /** An explanation; absent where the label is enough. */
  meaning?: string;
  /** Visitors are not redirected. */
  bad?: true;
};

/** The fields that tell the state and the features of a link; lists leave out what is off. */
export type StatefulLink = Partial<Link> & { expires_at: string | null };

/** The state by the link's status; undefined for an active link. */
const STATES: Readonly<
  Record<NonNullable<Link["status"]>, (link: StatefulLink) => LinkState | undefined>
> = {
  taken_down: () => ({
    label: t("fields.taken_down"),
    meaning: t("links.state.takenDownMeaning"),
    bad: true,
  }),
  disabled: () => ({
    label: t("fields.disabled"),
    meaning: t("links.state.disabledMeaning"),
    bad: true,
  }),
  scheduled: ({ starts_at = "" }) => ({
    label: t("links.state.from", { date: formatDate(starts_at) }),
    meaning: t("links.state.fromMeaning", { time: formatDateTime(starts_at) }),
  }),
  expired: ({ expired_url }) => ({
    label: t("links.state.expired"),
    meaning:
      expired_url === undefined
        ? t("links.state.expiredMeaning")
        : t("links.state.redirected", { url: expired_url }),
    bad: true,
  }),
  limit_reached: ({ expired_url }) => ({
    label: t("links.state.limitReached"),
    meaning:
      expired_url === undefined
        ? t("links.state.limitReachedMeaning")
        : t("links.state.redirected", { url: expired_url }),
    bad: true,
  }),
  active: ({ expires_at }) =>
    expires_at === null
      ? undefined
      : { label: t("links.state.until", { date: formatDate(expires_at) }) },
};

/** Describes the state of a link, the most important first; nothing for an active link. */
export function describeState(link: StatefulLink, now = Date.now()): LinkState[] {
  const { archived, clicks_left, expires_at } = link;
  const isExpired = expires_at !== null && Date.parse(expires_at) <= now;
  const status = link.status ?? (isExpired ? "expired" : "active");
  const state = STATES[status](link);
  const isLimited = status === "active" && clicks_left !== undefined;
  return [
    ...(state === undefined ? [] : [state]),
    ...(isLimited ? [{ label: t("links.state.clicksLeft", { count: clicks_left }) }] : []),
    ...(archived === true
      ? [{ label: t("fields.archived"), meaning: t("links.state.archivedMeaning") }]
      : []),
  ];
}

/** Names the other features of a link, in one or two words each. */
export function describeFeatures(link: StatefulLink): LinkState[] {
  const { has_password, rules = [], split, confirm } = link;
  return [
    ...(has_password === true
      ? [{ label: t("fields.password"), meaning: t("links.state.passwordMeaning") }]
      : []),
    ...(rules.length > 0
      ? [
          {
            label: t("links.state.rules", { count: rules.length }),
            meaning: t("links.state.rulesMeaning"),
          },
        ]
      : []),
    ...(split === undefined
      ? []
      : [{ label: t("fields.split"), meaning: t("links.state.splitMeaning") }]),
    ...(confirm === true
      ? [{ label: t("links.state.asksFirst"), meaning: t("links.state.asksFirstMeaning") }]
      : []),
  ];
}

/** The state and the features of a link as labels, with tooltips that explain them. */
export const StateBadges = ({ link }: { link: StatefulLink }) => (
  <span className="badges">
    {[...describeState(link), ...describeFeatures(link)].map(({ label, meaning, bad }) => (
      <span key={label} className={bad === true ? "badge badge-bad" : "badge"} title={meaning}>
        {label}
      </span>
    ))}
  </span>
);

/** Explains what the state of a link means for its visitors, one line for each. */
export const StateMeanings = ({ link }: { link: StatefulLink }) =>
  describeState(link).map(
    ({ label, meaning, bad }) =>
      meaning !== undefined && (
        <p key={label} className={bad === true ? "alert" : "warning"}>
          <strong>{label}.</strong> {meaning}
        </p>
      ),
  );
