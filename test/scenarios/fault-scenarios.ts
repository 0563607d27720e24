/** Scenarios of faults: which topology, load, faults and checks each is made of. */
import { LINKS_BEFORE, LINKS_BEFORE_SHORT } from "../harness/bulk-links.ts";
import { laterNatsServer, type NatsProgram, ownNatsServer } from "../harness/nats.ts";
import { canCreateNetworkHosts } from "../harness/netns.ts";
import { floodChecks } from "./checks/flood.ts";
import { drillChecks, FRESH_HOST, ONE_CONSUMER_EACH_HOST } from "./checks/hosts.ts";
import { CLIENT_SERVED } from "./checks/legitimate-client.ts";
import { expectLocalAnswers, REGION_CHECKS } from "./checks/regions.ts";
import { INTERRUPTIONS_SHORT, OF_TRAFFIC } from "./checks/traffic.ts";
import { DRILLS } from "./drills.ts";
import { CLONES } from "./faults/clones.ts";
import { FLEET_FAULTS } from "./faults/fleet.ts";
import { FLOODS, LIMIT_SHORT } from "./faults/floods.ts";
import { HOSTILE_INPUTS, INPUTS_AT_BOUNDS, SOME_AT_BOUNDS } from "./faults/hostile.ts";
import { LINKS_LOG_FAULTS } from "./faults/links-log.ts";
import { LOCAL_FAULTS } from "./faults/local.ts";
import { REGION_FAULTS } from "./faults/regions.ts";
import { FloodVisitors } from "./loads/flood-visitors.ts";
import { HostTraffic } from "./loads/host-traffic.ts";
import { Idle, LegitimateClient } from "./loads/legitimate-client.ts";
import { Traffic } from "./loads/traffic.ts";
import type { RunSettings } from "./parts.ts";
import { CLICKS_WAY, LINKS_LOG, NATS } from "./paths.ts";
import { type AnyScenario, faultScenario } from "./scenario.ts";
import { Fleet } from "./topologies/fleet.ts";
import { FloodedRedirector } from "./topologies/flooded-redirector.ts";
import { LocalStack } from "./topologies/local-stack.ts";
import { AttackedStack } from "./topologies/one-stack.ts";
import { TwoHosts } from "./topologies/two-hosts.ts";
import { TwoRegions } from "./topologies/two-regions.ts";

/** Every scenario of faults has these paths, too: what it is made of. */
const RUNNER = ["test/scenarios/{parts,scenario,run}.ts"];

const TRAFFIC = [...RUNNER, "test/scenarios/{loads,checks}/{traffic,clicks,changes,redirects}.ts"];

/** Of what measures single inputs: the stack must be idle, and the fault says what is wrong. */
const OF_INPUTS = {
  paths: [
    ...RUNNER,
    "api/http/**",
    "redirector/{http,redirect}/**",
    "shared/decision/**",
    "test/hostile/cost/**",
    "test/scenarios/faults/hostile.ts",
  ],
  topology: () => AttackedStack.start(),
  load: () => Promise.resolve(new Idle()),
  checks: [],
};

const linksOf = ({ long }: RunSettings): number => (long ? LINKS_BEFORE : LINKS_BEFORE_SHORT);

/** The nats-server that a run asks for. Throws when it cannot be had. */
async function natsServer({ later }: RunSettings): Promise<NatsProgram> {
  const program = later ? await laterNatsServer() : await ownNatsServer();
  if (program === undefined) throw new Error("There is no later nats-server.");
  return program;
}

/** Links beside those that are followed, of the long form. */
const LINKS_LOG_OTHERS = 1_000_000;

/** A million links take their time. */
const RIGHT_MS_LONG = 600_000;

export const FAULT_SCENARIOS: readonly AnyScenario[] = [
  faultScenario({
    name: "links-log",
    seconds: 600,
    paths: [
      ...LINKS_LOG,
      ...RUNNER,
      "test/harness/followed-links.ts",
      "test/scenarios/faults/links-log.ts",
    ],
    proves:
      "20,000 links go on when hosts, publishers, NATS, PostgreSQL or both come back older or stop",
    topology: ({ long }) =>
      TwoHosts.start({
        links: { count: 1_000, others: long ? LINKS_LOG_OTHERS : LINKS_BEFORE - 1_000 },
        holdMs: 3_000,
        rightMs: long ? RIGHT_MS_LONG : 30_000,
      }),
    load: (topology) => HostTraffic.start(topology, { clicks: false, events: false }),
    faults: LINKS_LOG_FAULTS,
    checks: [FRESH_HOST, ONE_CONSUMER_EACH_HOST],
  }),
  faultScenario({
    name: "chaos",
    seconds: 90,
    paths: [
      ...CLICKS_WAY,
      ...NATS,
      ...TRAFFIC,
      "worker/webhooks/**",
      "api/events/**",
      "test/scenarios/faults/{local,services,batches}.ts",
    ],
    proves: "each redirect is one click, and each change one event, under faults of each process",
    topology: () => LocalStack.start(),
    load: (topology, settings) =>
      Traffic.start(topology, {
        links: LINKS_BEFORE,
        // As fast as they can: some seconds of full load for each fault.
        pace: { untilSlower: settings.long ? 4_500_000 : 40_000 },
        quietMs: 0,
        log: settings.log,
      }),
    faults: LOCAL_FAULTS,
    roundsLong: 200,
    sentMin: 4_000_000,
    checks: OF_TRAFFIC,
  }),
  faultScenario({
    name: "cluster",
    seconds: 100,
    paths: [...NATS, ...LINKS_LOG, ...TRAFFIC, "test/scenarios/{faults,topologies}/fleet.ts"],
    proves: "the death of any server or process of a redundant fleet loses nothing",
    topology: async (settings) => await Fleet.start(await natsServer(settings)),
    load: (topology, settings) =>
      Traffic.start(topology, {
        links: linksOf(settings),
        pace: { perSecond: settings.long ? 500 : 50 },
        quietMs: settings.long ? 1_000 : 200,
        log: settings.log,
      }),
    faults: FLEET_FAULTS,
    roundsLong: 20,
    checks: [...OF_TRAFFIC, INTERRUPTIONS_SHORT],
  }),
  faultScenario({
    name: "regions",
    seconds: 90,
    paths: [
      ...RUNNER,
      "deploy/nats/**",
      "cli/machines/regions.ts",
      "redirector/links/**",
      "test/scenarios/{faults,checks}/regions.ts",
      "test/scenarios/topologies/two-regions.ts",
    ],
    proves: "a far region redirects from its mirror while it is cut off, and catches up",
    lacks: () =>
      canCreateNetworkHosts() ? undefined : "network namespaces are not permitted here",
    topology: async (settings) => await TwoRegions.start(await natsServer(settings)),
    async load(topology, settings) {
      await expectLocalAnswers(topology, settings.log);
      return await Traffic.start(topology, {
        links: linksOf(settings),
        pace: { perSecond: 50 },
        quietMs: 0,
        log: settings.log,
      });
    },
    faults: REGION_FAULTS,
    checks: [...OF_TRAFFIC, ...REGION_CHECKS],
  }),
  faultScenario({
    name: "flood",
    seconds: 60,
    paths: [...RUNNER, "redirector/http/**", "test/scenarios/{faults,loads,checks}/flood*.ts"],
    proves: "a flood of connections keeps no visitor from redirects",
    topology: ({ long }) =>
      FloodedRedirector.start(long ? {} : { CONNECTIONS_MAX: String(LIMIT_SHORT) }),
    load: (topology, { long }) =>
      FloodVisitors.start(
        topology,
        long ? { perSecond: 200, quietMs: 10_000 } : { perSecond: 40, quietMs: 2_000 },
      ),
    faults: FLOODS,
    inOrder: true,
    checks: floodChecks(LIMIT_SHORT),
  }),
  faultScenario({
    name: "clones",
    seconds: 90,
    paths: [
      ...RUNNER,
      "redirector/journal/**",
      "redirector/links/**",
      "worker/batches/**",
      "test/scenarios/faults/clones.ts",
    ],
    proves: "a host that exists twice, or has the disk of another one, counts and leads right",
    topology: () =>
      TwoHosts.start({ links: { count: 300, others: 300 }, holdMs: 3_000, rightMs: 30_000 }),
    load: (topology) => HostTraffic.start(topology, { clicks: true, events: true }),
    faults: CLONES,
    checks: drillChecks({ mayBeUnavailable: true }),
  }),
  faultScenario({
    name: "hostile",
    seconds: 60,
    paths: [
      ...RUNNER,
      "api/http/**",
      "redirector/http/**",
      "test/hostile/*.ts",
      "test/scenarios/faults/hostile.ts",
    ],
    proves: "hostile input on every route ends and stalls no process, and delays no other client",
    topology: () => AttackedStack.start(),
    load: (topology, { long }) => LegitimateClient.start(topology, long ? 20_000 : 2_000),
    faults: [HOSTILE_INPUTS],
    checks: [CLIENT_SERVED],
  }),
  faultScenario({
    name: "input-cost-some",
    seconds: 30,
    ...OF_INPUTS,
    proves: "none of some inputs costs a turn of the event loop more than its budget",
    faults: [SOME_AT_BOUNDS],
  }),
  faultScenario({
    name: "input-cost",
    seconds: 270,
    ...OF_INPUTS,
    proves: "no single input costs a turn of the event loop more than its budget",
    faults: [INPUTS_AT_BOUNDS],
  }),
  ...DRILLS,
];
