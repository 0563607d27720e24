/** Validates links by the API's own rules, before any request. */
import type { NewLink } from "../../../../../clients/typescript/src/index.ts";
import { aliasProblem } from "../../../../../shared/contracts/alias.ts";
import { newLinkBody } from "../../../../../shared/contracts/link-schemas.ts";
import { parseWebUrl } from "../../../../../shared/contracts/web-url.ts";
import { fieldName } from "../../../languages/fields.ts";
import { translateService } from "../../../languages/service.ts";
import { describeIssue } from "../../../ui/validation.ts";
import type { Problem } from "./model.ts";

/** Returns why a link cannot be created; undefined if only the service can know. */
export function findInvalid(link: NewLink): Problem | undefined {
  const url = parseWebUrl(link.url);
  if ("problem" in url) return { kind: "invalid_url", message: translateService(url.problem) };
  const alias =
    typeof link.alias === "string" ? aliasProblem(link.alias, link.domain ?? null) : undefined;
  if (alias !== undefined) return { kind: "invalid_alias", message: translateService(alias) };
  const [issue] = newLinkBody.safeParse(link, { error: describeIssue }).error?.issues ?? [];
  return issue === undefined
    ? undefined
    : {
        kind: "invalid_value",
        message: `${fieldName(issue.path.join("."))}: ${translateService(issue.message)}`,
      };
}
