/** Explains where a request for a link would be redirected, using the redirector's own decision. */
import { truncateBytes } from "../../../shared/bytes.ts";
import { CLICK_TEXT_BYTES_MAX } from "../../../shared/contracts/click-text.ts";
import { rememberFacts, type RequestFacts, toAgentNames } from "../../../shared/decision/facts.ts";
import { preferredLanguage } from "../../../shared/decision/language.ts";
import { type Target, Targets } from "../../../shared/decision/targets.ts";
import { encodeId } from "../../../shared/ids.ts";
import { beginTurn } from "../../../shared/turns.ts";
import { isPreviewAgent } from "../../../shared/visitors/preview-agents.ts";
import { sourceOf } from "../../../shared/visitors/referrer.ts";
import { parseAgent } from "../../../shared/visitors/user-agent.ts";
import type { LinkRow } from "../model.ts";
import { toRecord } from "../record.ts";
import { statusOf } from "../settings/model.ts";
import type { ExplainBody, Explanation } from "./model.ts";

/**
 * Explains a request for a link, in turns of the event loop. `ownHosts` are those of the service's
 * own short domain.
 */
export async function explainRequest(
  link: LinkRow,
  body: ExplainBody,
  ownHosts: ReadonlySet<string>,
  turn = beginTurn(),
): Promise<Explanation> {
  const now = body.at === undefined ? Date.now() : Date.parse(body.at);
  const record = toRecord(link);
  const targets = new Targets(record.extras ?? {});
  const facts = toFacts(body, now, link.domain_host ?? "", ownHosts);
  const status = statusOf(link, now);
  const chosen = targets.choose(facts);
  const rules: Explanation["rules"] = [];
  for (const { id, ...explained } of targets.explain(facts)) {
    rules.push({ id: encodeId("rule", id), ...explained });
    if (turn.isOver()) await turn.next();
  }
  return {
    status,
    requires_password: link.password_hash !== null,
    preview:
      status === "active" &&
      record.extras?.preview !== undefined &&
      link.password_hash === null &&
      isPreviewAgent(facts.userAgent()),
    target: status === "active" ? toTarget(chosen, record.destination) : null,
    rules,
  };
}

const toTarget = (chosen: Target | undefined, own: string): Explanation["target"] =>
  chosen === undefined
    ? { kind: "default", id: null, url: own }
    : { ...chosen, id: encodeId(chosen.kind, chosen.id) };

function toFacts(
  {
    user_agent = "",
    ip = "",
    country,
    continent,
    language = "",
    referrer = "",
    query = "",
  }: ExplainBody,
  now: number,
  host: string,
  ownHosts: ReadonlySet<string>,
): RequestFacts {
  const known = country !== undefined || continent !== undefined;
  return rememberFacts({
    now: () => now,
    address: () => ip,
    location: () =>
      known ? { country: country?.toUpperCase() ?? "ZZ", continent: continent ?? "" } : undefined,
    // The same bytes that the redirector reads and a click stores.
    userAgent: () =>
      Buffer.from(truncateBytes(user_agent, CLICK_TEXT_BYTES_MAX.userAgent)).toString("latin1"),
    agent: () =>
      toAgentNames(parseAgent(truncateBytes(user_agent, CLICK_TEXT_BYTES_MAX.userAgent))),
    language: () => preferredLanguage(language),
    source: () => sourceOf(truncateBytes(referrer, CLICK_TEXT_BYTES_MAX.referrer), host, ownHosts),
    query: () => query,
  }).facts;
}
