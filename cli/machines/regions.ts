/** `shorthop region …`: the streams of several regions (docs/regions.md). */
import { type Command, InvalidArgumentError } from "commander";
import type { JetStreamManager } from "nats";

import { CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { parseCount } from "../arguments.ts";
import type { Installation } from "../installation.ts";
import { mustExist, print, printList } from "../output.ts";
import {
  collectClicks,
  ensureFarStreams,
  forgetRegion,
  MIRRORED,
  readRegionLinks,
  recreateMirrors,
} from "./region-streams.ts";

/** Runs `work` on the streams of a region, and records the command unless it only reads. */
type WithStreams = (
  work: (manager: JetStreamManager) => Promise<void>,
  command?: string,
) => Promise<void>;

export function addRegionCommands(program: Command, installation: Installation): void {
  const region = program
    .command("region")
    .description("Several regions; NATS_URL is a server of one of them, with the user operator");
  const withStreams: WithStreams = (work, command) =>
    installation.withNats(async (nats) => {
      await work(await nats.jetstreamManager());
      if (command !== undefined) await installation.recordCommand(command);
    });
  addMirror(region, withStreams);
  addSource(region.command("collect"), withStreams, async (manager, far) => {
    await collectClicks(manager, far);
    return true;
  }).description("In the hub: take the clicks of a far region");
  addSource(region.command("forget"), withStreams, forgetRegion).description(
    "In the hub: no longer take the clicks of a far region",
  );
  addCheck(region, withStreams);
}

function addMirror(region: Command, withStreams: WithStreams): void {
  region
    .command("mirror")
    .description(
      "In a far region: create its mirrors of LINK_LOG and LINK_SNAPSHOTS, and its CLICKS",
    )
    .option("--replicas <n>", "copies of each stream: 1, 3 or 5", parseCount, 1)
    .option("--clicks-mib <n>", "size of CLICKS in MiB", parseCount, 8_192)
    .option(
      "--recreate",
      "delete the mirrors first, after streams of the hub were recreated",
      false,
    )
    .option("--json", "print JSON", false)
    .action((options: { replicas: number; clicksMib: number; recreate: boolean; json: boolean }) =>
      withStreams(async (manager) => {
        const { replicas, clicksMib, recreate, json } = options;
        if (recreate) await recreateMirrors(manager, replicas);
        await ensureFarStreams(manager, replicas, clicksMib * 1024 ** 2);
        print(json, { streams: [...MIRRORED, CLICKS_STREAM] });
      }, "region mirror"),
    );
}

function addCheck(region: Command, withStreams: WithStreams): void {
  region
    .command("check")
    .description("What this region takes from others, and how far behind it is")
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      withStreams(async (manager) => {
        const links = await readRegionLinks(manager);
        printList(json, links);
        const problems = links.filter(({ problem }) => problem !== null);
        if (problems.length > 0)
          throw new Error(
            problems
              .map(({ stream, from, problem }) => `${stream} from ${from}: ${problem}`)
              .join("\n"),
          );
      }),
    );
}

/** A command about a far region; `work` returns whether there is one of this name. */
const addSource = (
  command: Command,
  withStreams: WithStreams,
  work: (manager: JetStreamManager, far: string) => Promise<boolean>,
): Command =>
  command
    .argument("<region>", "its `domain` in server.conf", parseDomain)
    .option("--json", "print JSON", false)
    .action((far: string, { json }: { json: boolean }) =>
      withStreams(async (manager) => {
        mustExist(await work(manager, far), "region");
        print(json, { region: far });
      }, `region ${command.name()} ${far}`),
    );

/** Parses a name that is one token of a NATS subject. */
function parseDomain(text: string): string {
  if (!/^[\w-]{1,64}$/.test(text))
    throw new InvalidArgumentError("It must have only letters, digits, - and _.");
  return text;
}
