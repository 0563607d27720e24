/**
 * Goal: each ambiguous request has one decision, and where another widely used parser decides
 * differently, a reason is given. After a change that is meant, edit the line of the request.
 */
import { describe, expect, test } from "bun:test";

import { forFile } from "../harness/for-file.ts";
import { type CorpusLine, readCorpus, sendRequest, startNginx, startOurServer } from "./servers.ts";

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

/** Why the redirector decides differently from nginx, by the keys that the corpus refers to. */
const REASONS: Readonly<Record<string, string>> = {
  version:
    "Only HTTP/1.x is accepted (505), and one digit after the dot; nginx is looser or closes silently.",
  request_line:
    "One blank separates the parts of a request line (RFC 9112 §3); nginx accepts several.",
  line_ends:
    "Lines end with CR LF, and at most one is empty before a request (RFC 9112 §2.2): parsers that accept other ends " +
    "disagree about where a field or a head ends. nginx accepts LF.",
  field_syntax:
    "Field names are tokens and values have no control characters (RFC 9110 §5.1, §5.5); nginx accepts most bytes.",
  host: "A host has the form of a name or an address, with a port of at most five digits; nginx accepts nearly any text, but no underscore in an absolute target.",
  method:
    "Unknown methods get 405, and a method is at most 16 characters; nginx rejects lower case, TRACE and CONNECT as malformed. A form is posted only to a link.",
  body_of_a_form:
    "Only a posted form may have a body: that of a GET would be read differently elsewhere.",
  connection_options:
    "`close` wins over `keep-alive`, and only the option itself counts (RFC 9112 §9.6); nginx takes the last field, and any text that contains `close`.",
  expectation:
    "Only `100-continue` can be met, once, and it is ignored without a body and in HTTP/1.0; others get 417 (RFC 9110 §10.1.1).",
  coding: "Both reject it; which status a malformed or unknown coding gets differs.",
  chunk_syntax:
    "Chunks are read strictly (RFC 9112 §7.1), before the request is handled; nginx accepts other line ends and any trailer, and responds before it has read the body.",
  bounds: "Our bounds differ from those of nginx.",
  incomplete: "nginx responds before the body has arrived.",
  malformed_path:
    "A malformed path, or one with `..`, gets 400 and the connection stays open, as its framing is clear; nginx closes it, and resolves `..` below the root.",
  normalized_path: "`.` is not resolved: there is no link at such a path.",
  fragment: "`#` is not special in a request's target; clients never send it.",
  glued:
    "What cannot be part of an alias is dropped where a path has no alias as it came: people paste it along with short URLs.",
  health_check: "`/healthz` is for load balancers.",
  trailing_slash: "One trailing slash is dropped.",
};
