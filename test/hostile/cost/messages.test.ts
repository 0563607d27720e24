/**
 * Goal: messages that the cost guard sends are at their bounds, and have the form that processes
 * read.
 */
import { expect, test } from "bun:test";

import {
  decodeSegment,
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
} from "../../../shared/contracts/click-segment.ts";
import { failureReport, REPORTED_LINKS_MAX } from "../../../shared/contracts/failures.ts";
import { decodeLinkRecord } from "../../../shared/contracts/link-record.ts";
import { newUuid } from "../../../shared/ids.ts";
import { decodeEntry, MESSAGE_BYTES_MAX } from "../../../shared/links-log/entries.ts";
import { decodeManifest, decodeSnapshotRequest } from "../../../shared/links-log/snapshots.ts";
import { MESSAGES } from "./messages.ts";

function make(name: string): Uint8Array {
  const message = MESSAGES.find((one) => one.name === name);
  if (message === undefined) throw new Error(`There is no message "${name}".`);
  return message.make(1, 7, newUuid());
}

test("segments have as many clicks, or as long ones, as a segment may have", () => {
  const most = decodeSegment(Buffer.from(make("segment with most clicks")));
  expect(most?.clicks.length).toBe(SEGMENT_CLICKS_MAX);
  const bytes = make("segment with longest texts");
  expect(bytes.length).toBeLessThanOrEqual(SEGMENT_BYTES_MAX);
  expect(bytes.length).toBeGreaterThan(0.8 * SEGMENT_BYTES_MAX);
  const agents = new Set(decodeSegment(Buffer.from(bytes))?.clicks.map((one) => one.userAgent));
  expect(agents.size).toBeGreaterThan(200);
});

test("a report has most entries, and is valid", () => {
  const report = failureReport.parse(
    JSON.parse(Buffer.from(make("report with most entries")).toString()),
  );
  expect(report.links.length).toBe(REPORTED_LINKS_MAX);
});

test("an entry has a link with all its conditions, or most states, and is valid", () => {
  const [state = new Uint8Array()] = decodeEntry(make("entry with most conditions"))?.states ?? [];
  const record = decodeLinkRecord(state);
  expect(record?.state === "active" && record.extras?.rules).toHaveLength(20);
  expect(decodeEntry(make("entry with most states"))?.states.length).toBeGreaterThan(15_000);
});

test("a message without a form is as long as one may be", () => {
  for (const name of ["entry of nested JSON", "entry of wide JSON, which publishers read"]) {
    expect(make(name).length).toBeGreaterThan(0.9 * MESSAGE_BYTES_MAX);
    expect(make(name).length).toBeLessThanOrEqual(MESSAGE_BYTES_MAX);
    expect(decodeEntry(make(name))).toBeUndefined();
  }
});

test("a manifest is valid, and a request names a term", () => {
  expect(decodeManifest(make("manifest of a snapshot that is not there"))).toBeDefined();
  expect(decodeManifest(make("manifest of nested JSON"))).toBeUndefined();
  const request = decodeSnapshotRequest(make("request for a snapshot of another history"));
  expect(request).toBe(8);
});
