/** The form of a domain's settings: its values, their validation, and the resulting request. */
import type { Domain } from "../../../../clients/typescript/src/index.ts";
import {
  APP_FILE_BYTES_MAX,
  type ChangeDomainBody,
  changeDomainBody,
} from "../../../../shared/contracts/domain-settings.ts";
import { trimInvisible } from "../../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { t } from "../../languages/translate.ts";
import { describeIssue, describeRule } from "../../ui/validation.ts";

export const URL_FIELDS = ["root_url", "not_found_url", "expired_url"] as const;
export const FILE_FIELDS = ["apple_app_site_association", "assetlinks"] as const;

type UrlField = (typeof URL_FIELDS)[number];
type FileField = (typeof FILE_FIELDS)[number];

export type DomainValues = Record<UrlField | FileField, string> & { ignoresCase: boolean };

export const toDomainValues = (domain: Domain): DomainValues => ({
  root_url: domain.root_url ?? "",
  not_found_url: domain.not_found_url ?? "",
  expired_url: domain.expired_url ?? "",
  ignoresCase: domain.case_sensitive === false,
  apple_app_site_association: printFile(domain.apple_app_site_association),
  assetlinks: printFile(domain.assetlinks),
});

const printFile = (file: unknown): string =>
  file === undefined ? "" : JSON.stringify(file, null, 2);

/** The messages by field. */
export type DomainErrors = Partial<Record<keyof DomainValues, string>>;

/**
 * Returns the fields that differ from `before` as a request, or their problems by the API's rules.
 */
export function readDomainValues(
  before: DomainValues,
  after: DomainValues,
): { change: ChangeDomainBody } | { errors: DomainErrors } {
  const errors: DomainErrors = {};
  const body: Record<string, unknown> = {};
  for (const field of URL_FIELDS) {
    const text = trimInvisible(after[field]);
    if (text === before[field]) continue;
    body[field] = text === "" ? null : text;
    const parsed = text === "" ? undefined : parseWebUrl(text);
    if (parsed !== undefined && "problem" in parsed) errors[field] = describeRule(parsed.problem);
  }
  for (const field of FILE_FIELDS) {
    if (after[field] === before[field]) continue;
    const read = readFile(after[field]);
    if ("problem" in read) errors[field] = read.problem;
    else body[field] = read.file;
  }
  if (after.ignoresCase !== before.ignoresCase) body["case_sensitive"] = !after.ignoresCase;
  const parsed = changeDomainBody.safeParse(body, { error: describeIssue });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = FILE_FIELDS.find((name) => name === path[0]);
    if (field !== undefined) errors[field] ??= describeRule(message);
  }
  return parsed.data === undefined || Object.keys(errors).length > 0
    ? { errors }
    : { change: parsed.data };
}

/** Reads an app association file; null for none. */
function readFile(text: string): { file: unknown } | { problem: string } {
  if (text.trim() === "") return { file: null };
  try {
    const file: unknown = JSON.parse(text);
    // Counted as the API does: compact, in UTF-8.
    const bytes = new TextEncoder().encode(JSON.stringify(file)).length;
    return bytes > APP_FILE_BYTES_MAX
      ? { problem: t("domains.bytesMax", { max: APP_FILE_BYTES_MAX }) }
      : { file };
  } catch {
    return { problem: t("domains.notJson") };
  }
}
