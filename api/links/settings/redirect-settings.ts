/** Converts a link's settings, as the API stores them, to those of its record. */
import type { RedirectSettings } from "../../../shared/contracts/redirect-settings.ts";
import { uriOf } from "../../../shared/contracts/web-url.ts";
import { decodeId, type Uuid } from "../../../shared/ids.ts";
import { applyUtm, type Utm } from "../utm.ts";
import type { LinkSettings } from "./model.ts";

/**
 * The settings of a link as redirectors need them: with normalized URLs and instants in Unix
 * milliseconds. The link's UTM parameters are set on every destination. `clicks` is the link's
 * click count so far.
 */
export function toRedirectSettings(
  {
    disabled,
    starts_at,
    expired_url,
    rules,
    split,
    preview,
    forward_path,
    ...guards
  }: LinkSettings,
  { clicks, ...utm }: Utm & { clicks: number },
): RedirectSettings {
  const destination = (url: string) => applyUtm(uriOf(url), utm);
  return {
    ...(disabled === undefined ? {} : { disabled }),
    ...(starts_at === undefined ? {} : { starts_at: Date.parse(starts_at) }),
    ...(expired_url === undefined ? {} : { expired_url: uriOf(expired_url) }),
    ...(rules === undefined
      ? {}
      : {
          rules: rules.map(({ id, url, conditions }) => ({
            id: requireId("rule", id),
            url: destination(url),
            conditions,
          })),
        }),
    ...(split === undefined
      ? {}
      : {
          split: {
            key: split.key,
            arms: split.arms.map(({ id, url, weight }) => ({
              id: requireId("arm", id),
              url: destination(url),
              weight,
            })),
            ...(split.until === null ? {} : { until: Date.parse(split.until) }),
          },
        }),
    ...(preview === undefined ? {} : { preview: toCard(preview) }),
    ...(forward_path === undefined ? {} : { forward_path }),
    ...toGuards(guards, clicks),
  };
}

/** The click limit and the preview of a link. */
function toGuards(
  {
    max_clicks: max,
    limit_counts,
    ledger,
    confirm,
  }: Pick<LinkSettings, "max_clicks" | "limit_counts" | "ledger" | "confirm">,
  stored: number,
): RedirectSettings {
  return {
    ...(max === undefined || ledger === undefined
      ? {}
      : {
          limit: {
            ...ledger,
            max,
            stored,
            ...(limit_counts === "human" ? { humans: true } : {}),
          },
        }),
    ...(confirm === undefined ? {} : { confirm }),
  };
}

const toCard = ({
  title,
  description,
  image,
}: NonNullable<LinkSettings["preview"]>): RedirectSettings["preview"] & {} => ({
  title,
  ...(description === null ? {} : { description }),
  ...(image === null ? {} : { image: uriOf(image) }),
});

/** The UUID of a stored id. */
function requireId(kind: "rule" | "arm", id: string): Uuid {
  const uuid = decodeId(kind, id);
  if (uuid === undefined) throw new Error(`A stored ${kind} has no valid id.`);
  return uuid;
}
