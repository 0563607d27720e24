/** `shorthop upgrade FILE…`: upgrades this host to the packages of a release. */
import { readFileSync } from "node:fs";

import type { Command } from "commander";

import { usePostgres } from "../../../api/postgres.ts";
import { findUrl } from "../../endpoints.ts";
import type { EnvironmentFiles } from "../../environment-files.ts";
import { waitUntilReady } from "./services.ts";
import { runGrants } from "./sql.ts";
import { upgrade } from "./steps.ts";
import { hostSystem } from "./system.ts";

const GRANTS = "/usr/share/shorthop/postgres/grants.sql";

type Env = Record<string, string | undefined>;

export function addUpgradeCommand(program: Command, ownerEnv: Env, files: EnvironmentFiles): void {
  program
    .command("upgrade")
    .summary("Upgrade this host to the packages of a release, without a failed redirect")
    .description(
      "Upgrade this host to the packages of a release: checks them, makes a backup, migrates, and replaces running " +
        "processes one by one. If the new ones do not become ready, the programs are put back. With several hosts, stop " +
        "all workers first, and begin on the host with migrate.env",
    )
    .argument("<files...>", "the release's .deb files")
    .option("--no-backup", "without a backup before")
    .action((packages: string[], { backup }: { backup: boolean }) =>
      upgrade(packages, {
        system: hostSystem,
        migrates: files.has("migrate"),
        backup,
        grant: () => grantPrivileges(ownerEnv),
        waitUntilReady: (units) => waitUntilReady(units, files),
        say: (line) => console.log(line),
      }),
    );
}

/** Runs `grants.sql` of the new version as the owner; its lines that begin with `\` are psql's. */
async function grantPrivileges(env: Env): Promise<void> {
  const statements = readFileSync(GRANTS, "utf8").replaceAll(/^\\.*$/gm, "");
  await usePostgres(await findUrl(env, "DATABASE_URL"), (sql) => runGrants(sql, statements));
}
