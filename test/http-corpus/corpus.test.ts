/**
 * Goal: each ambiguous request has one decision, and where another widely used parser decides
 * differently, a reason is given. After a change that is meant, edit the line of the request.
 */
import { describe, expect, test } from "bun:test";

import { forFile } from "../harness/for-file.ts";
import { type CorpusLine, readCorpus, sendRequest } from "./exchange.ts";
import { REASONS } from "./reasons.ts";
import { startNginx, startOurServer } from "./servers.ts";

/** Concurrent requests. */
const CONCURRENCY = 16;

/** Requests that are sent again when they differ: a stalled machine looks like a silent server. */
const ATTEMPTS = 5;

/** The version that the decisions of nginx were recorded with: Debian 12's. */
const NGINX_VERSION = "1.22";

const corpus = await readCorpus();

const ours = await forFile(startOurServer(), (ours) => ours.stop());

/** Sends the corpus; returns the requests whose statuses differ from the expected ones. */
async function findDifferences(
  port: number,
  expected: (line: CorpusLine) => string,
): Promise<{ name: string; expected: string; statuses: string }[]> {
  const differences: { name: string; expected: string; statuses: string }[] = [];
  let next = 0;
  const send = async (): Promise<void> => {
    for (let line = corpus[next++]; line !== undefined; line = corpus[next++]) {
      let statuses = "";
      for (let i = 0; i < ATTEMPTS && (i === 0 || statuses !== expected(line)); i++) {
        statuses = await sendRequest(port, line.request);
      }
      if (statuses !== expected(line))
        differences.push({ name: line.name, expected: expected(line), statuses });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, send));
  return differences;
}

describe("the corpus of ambiguous requests", () => {
  test("has at least 600 different ones, and a reason for each difference from nginx", () => {
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(new Set(corpus.map(({ request }) => JSON.stringify(request))).size).toBeGreaterThan(600);
    const differing = corpus.filter(({ nginx }) => nginx !== undefined);
    expect(differing.filter(({ reason }) => !Object.hasOwn(REASONS, reason ?? ""))).toEqual([]);
    const used = new Set(differing.map(({ reason }) => reason));
    expect(Object.keys(REASONS).filter((key) => !used.has(key))).toEqual([]);
  });

  test("gets the recorded decisions", async () => {
    expect(await findDifferences(ours.port, ({ statuses }) => statuses)).toEqual([]);
  });

  test("gets the recorded decisions of nginx", async () => {
    const nginx = await startNginx(NGINX_VERSION);
    if (nginx === undefined) {
      console.warn(`\n!!! nginx ${NGINX_VERSION} is not installed: NOT COMPARED\n`);
      return;
    }
    try {
      const differences = await findDifferences(nginx.port, (line) => line.nginx ?? line.statuses);
      expect(differences).toEqual([]);
    } finally {
      await nginx.stop();
    }
  });
});
