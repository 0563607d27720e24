/**
 * The common part of operations on many links: each row is validated separately, and hosts are
 * looked up once.
 */
import { beginTurn } from "../../../shared/turns.ts";
import type { DomainService } from "../../domains/service.ts";
import { ApiError } from "../../http/errors.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { LinkServiceDeps } from "../deps.ts";

/**
 * Prepares every row, in as many turns of the event loop as that takes. An {@link ApiError} below
 * 500 fails its row; any other error fails the request.
 */
export async function prepareAll<Row, Prepared extends object>(
  rows: readonly Row[],
  prepare: (row: Row, index: number) => Promise<Prepared>,
): Promise<(Prepared | { error: ApiError })[]> {
  async function prepareRow(row: Row, index: number): Promise<Prepared | { error: ApiError }> {
    try {
      return await prepare(row, index);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return { error };
    }
  }

  const turn = beginTurn();
  const prepared: Promise<Prepared | { error: ApiError }>[] = [];
  for (const [index, row] of rows.entries()) {
    if (turn.isOver()) await turn.next();
    const one = prepareRow(row, index);
    // It may fail before all others have begun; the error is thrown below.
    one.catch(() => undefined);
    prepared.push(one);
  }
  return await Promise.all(prepared);
}

/**
 * Dependencies whose domain lookups are cached: one lookup per name, and one for all destinations
 * together.
 */
export function cacheLookups<Deps extends Pick<LinkServiceDeps, "domains">>(deps: Deps): Deps {
  const { domains } = deps;
  const verified = new Map<string, ReturnType<DomainService["requireVerified"]>>();
  let waiting: { hosts: Set<string>; custom: Promise<ReadonlySet<string>> } | undefined;

  /** Collects the hosts of one event loop turn, and looks them up together. */
  function findCustom(host: string): Promise<ReadonlySet<string>> {
    if (waiting === undefined) {
      const hosts = new Set<string>();
      const custom = Promise.resolve().then(() => {
        waiting = undefined;
        return domains.findCustom([...hosts]);
      });
      waiting = { hosts, custom };
    }
    waiting.hosts.add(host);
    return waiting.custom;
  }

  return {
    ...deps,
    domains: {
      ...domains,
      isCustom: async (host: string) => (await findCustom(host)).has(host),
      requireVerified(owner: AccountScope, name: string) {
        const known = verified.get(name) ?? domains.requireVerified(owner, name);
        verified.set(name, known);
        return known;
      },
    },
  };
}
