/** The clicks that a query covers: conditions on raw clicks and on rollups by dimension. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { BreakdownScope } from "./dimensions.ts";
import { ALWAYS_FEW, fewByRollups } from "./few-clicks.ts";
import { allOf, type Condition, needsRawClicks, type Selection } from "./filters.ts";
import { accountLinks, type QueryRange } from "./sources.ts";

/** A link, and whether it has so few clicks that scanning raw clicks is cheapest. */
export type CountedLink = { id: Uuid; lowVolume: boolean };

/** The selected clicks of a link. */
export const linkScope = ({ id, lowVolume }: CountedLink, selection: Selection): BreakdownScope => {
  const link = { condition: "link_id = {link_id: UUID}", params: { link_id: id } };
  const subject = { condition: "subject_id = {link_id: UUID}", params: {} };
  return {
    ...scopeOf(selection, link, selection.links, selection.columns),
    ...rollupScope(
      allOf(subject, selection.subjects).condition,
      allOf(link, selection.subjects).params,
      selection,
    ),
    lowVolume,
    ...(lowVolume ? { isFew: ALWAYS_FEW } : {}),
  };
};

/**
 * The condition on single clicks of all links of an account. It does not restrict the links to
 * those with clicks.
 */
export const accountClicks = (owner: AccountScope, selection: Selection): Condition => {
  const { links, columns } = selection;
  const { condition, params } = scopeOf(selection, accountCondition(owner), links, columns);
  return { condition, params };
};

/** The condition of all links of an account in one mode. */
export const accountCondition = ({ accountId, mode }: AccountScope): Condition => ({
  condition: "account_id = {account_id: UUID} AND mode = {mode: String}",
  params: { account_id: accountId, mode },
});

/** The selected clicks of all links of an account in one mode, including deleted links. */
export const accountScope = (
  owner: AccountScope,
  range: Pick<QueryRange, "from" | "to">,
  selection: Selection,
): BreakdownScope => {
  const account = accountCondition(owner);
  const links = accountLinks(range, !selection.classes.every((name) => name === "human"));
  const subjects =
    selection.subjects === undefined
      ? { condition: "subject_id = {account_id: UUID} AND mode = {mode: String}", params: {} }
      : allOf(
          { condition: "mode = {mode: String}", params: {} },
          accountLinks(range, false, "subject_id"),
          selection.subjects,
        );
  return {
    ...scopeOf(selection, account, links, selection.links, selection.columns),
    ...rollupScope(subjects.condition, { ...account.params, ...subjects.params }, selection),
    lowVolume: false,
  };
};

const rollupScope = (
  subjects: string,
  params: Record<string, unknown>,
  selection: Selection,
): Pick<BreakdownScope, "subjects" | "isFew"> => ({
  subjects,
  isFew: fewByRollups(subjects, params, selection),
});

function scopeOf(
  selection: Selection,
  ...conditions: readonly (Condition | undefined)[]
): Pick<BreakdownScope, "condition" | "params" | "onlyRaw"> {
  const { condition, params } = allOf(...conditions);
  return {
    condition,
    params: { ...params, classes: selection.classes },
    onlyRaw: needsRawClicks(selection),
  };
}
