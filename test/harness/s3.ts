/** An S3-compatible store with one bucket, in a process of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { S3Settings } from "../../cli/machines/backup/storage.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { eventually } from "./eventually.ts";
import { PROJECT_DIR } from "./stack.ts";

const BUCKET = "links-images";

/** The one key of the server. */
const KEY = "S3RVER";

const START_TIMEOUT_MS = 20_000;

export class TestS3 implements AsyncDisposable {
  /** The server and its key. */
  readonly place: S3Settings;
  readonly #dir: string;
  readonly #server: Bun.Subprocess;

  private constructor(place: S3Settings, dir: string, server: Bun.Subprocess) {
    this.place = place;
    this.#dir = dir;
    this.#server = server;
  }

  static async start(): Promise<TestS3> {
    const dir = mkdtempSync(join(tmpdir(), "shorthop-s3-"));
    const port = findFreePort();
    const program = join(PROJECT_DIR, "node_modules/s3rver/bin/s3rver.js");
    const options = ["-d", dir, "-a", "127.0.0.1", "-p", `${port}`, "--configure-bucket", BUCKET];
    const server = Bun.spawn(["node", program, "--silent", ...options], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const endpoint = `http://127.0.0.1:${port}`;
    await eventually(async () => {
      await (await fetch(endpoint)).text();
    }, START_TIMEOUT_MS);
    const key = { S3_ACCESS_KEY_ID: KEY, S3_SECRET_ACCESS_KEY: KEY };
    return new TestS3({ S3_ENDPOINT: endpoint, S3_REGION: "us-east-1", ...key }, dir, server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.kill();
    await this.#server.exited;
    rmSync(this.#dir, { recursive: true });
  }
}
