/** Goal: no fault and no check keeps a scenario from ending, with its seed and its evidence. */
import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";

import { SLOWDOWN_MAX } from "../harness/eventually.ts";
import { Idle } from "../scenarios/loads/legitimate-client.ts";
import type { Fault, RunSettings } from "../scenarios/parts.ts";
import { faultScenario } from "../scenarios/scenario.ts";
import type { Topology } from "../scenarios/topologies/topology.ts";

/** A system of which nothing runs. */
class NoSystem implements Topology {
  readonly isMirrored = false;
  hasEnded = false;

  apis = (): string[] => [];
  redirectors = (): string[] => [];
  /** The port that never has a server. */
  clickhouseUrl = (): string => "http://127.0.0.1:1";
  connectNats = (): Promise<never> => Promise.reject(new Error("There is no NATS."));
  connectLinksNats = this.connectNats;
  createKey = (): Promise<never> => Promise.reject(new Error("There is no API."));
  expectRunning = (): Promise<void> => Promise.resolve();
  describe = (): Promise<string> => Promise.resolve("");
  findLeftovers = (): string[] => [];
  logs = (): Record<string, string> => ({ "system.log": "" });

  [Symbol.asyncDispose](): Promise<void> {
    this.hasEnded = true;
    return Promise.resolve();
  }
}

const SETTINGS: RunSettings = {
  seed: 1,
  long: false,
  later: false,
  changed: [],
  log: () => undefined,
};

/** Runs a scenario that has this fault, and a check, and a limit of so many seconds. */
async function runWith(limit: number, system: NoSystem, inject: Fault<NoSystem, Idle>["inject"]) {
  const checked: string[] = [];
  const scenario = faultScenario({
    name: "limit",
    seconds: limit / SLOWDOWN_MAX,
    paths: [],
    proves: "",
    topology: () => Promise.resolve(system),
    load: () => Promise.resolve(new Idle()),
    faults: [{ name: "fault", inject }],
    checks: [{ name: "check", verify: () => Promise.resolve(void checked.push("check")) }],
  });
  const { problems, evidence = "" } = await scenario.run(SETTINGS);
  const hasEvidence = existsSync(evidence);
  rmSync(evidence, { recursive: true, force: true });
  return { problems, hasEvidence, checked };
}

test("a fault that hangs fails in the time of its scenario, which keeps evidence and ends its system", async () => {
  const system = new NoSystem();
  const { problems, hasEvidence, checked } = await runWith(
    1,
    system,
    () => new Promise(() => undefined),
  );
  expect(problems).toEqual([
    "fault: It has not ended after 1 s.",
    "the load: No time is left for it.",
    "check: No time is left for it.",
  ]);
  expect({ hasEvidence, checked, hasEnded: system.hasEnded }).toEqual({
    hasEvidence: true,
    checked: [],
    hasEnded: true,
  });
});

test("when a fault fails, the checks run nevertheless", async () => {
  const { problems, checked } = await runWith(60, new NoSystem(), () =>
    Promise.reject(new Error("It has no effect.")),
  );
  expect(problems).toEqual(["fault: It has no effect."]);
  expect(checked).toEqual(["check"]);
});

test("what there is no time to check has failed", async () => {
  const { problems, checked } = await runWith(1, new NoSystem(), () => Bun.sleep(990));
  expect(problems).toContain("check: No time is left for it.");
  expect(checked).toEqual([]);
});
