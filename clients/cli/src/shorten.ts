/** `shorthop shorten`: one URL, or any number of a pipe. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

import { type Command, InvalidArgumentError } from "commander";

import type { Client, NewLink } from "../../typescript/src/index.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

type Options = {
  alias?: string;
  domain?: string;
  title?: string;
  tag: string[];
  expires?: string;
  qr?: QrFile;
  copy: boolean;
  json: boolean;
};

const QR_FORMATS = ["svg", "png", "pdf"] as const;

type QrFile = { path: string; format: (typeof QR_FORMATS)[number] };

/** Links of a pipe that are created at once. */
const BATCH = 100;

export function addShortenCommand(program: Command, settings: Settings, terminal: Terminal): void {
  program
    .command("shorten")
    .description("Shorten URLs; those of standard input, one a line, when none is given")
    .argument("[urls...]", "URLs to shorten")
    .option("--alias <alias>", "the last part of the short URL (of one URL)")
    .option("--domain <host>", "a custom domain")
    .option("--title <text>", "a name for people of the account")
    .option("--tag <tag>", "a tag; repeat it for more", collect, [])
    .option("--expires <instant>", "when the link ends, such as 2027-01-31T12:00:00Z")
    .option("--qr <file>", "save the QR code as .svg, .png or .pdf (of one URL)", parseQrFile)
    .option("--no-copy", "do not copy the short URL to the clipboard")
    .option("--json", "print each link as a line of JSON", false)
    .action(async (urls: string[], options: Options) => {
      const client = settings.client();
      if (urls.length === 1) return await shortenOne(client, terminal, urls[0] ?? "", options);
      if (options.alias !== undefined || options.qr !== undefined)
        throw new Error("--alias and --qr are for one URL.");
      if (urls.length > 0) return await shortenMany(client, terminal, urls, options);
      if (!terminal.isFed) throw new Error("Give a URL, or some on standard input.");
      await shortenLines(client, terminal, options);
    });
}

/** Shortens the lines of standard input. When it fails midway, says after how many of them. */
async function shortenLines(client: Client, terminal: Terminal, options: Options): Promise<void> {
  let done = 0;
  try {
    for await (const batch of inBatches(terminal.readLines())) {
      await shortenMany(client, terminal, batch, options);
      done += batch.length;
    }
  } catch (error) {
    if (done > 0) terminal.say(`Stopped after ${done} URLs.`);
    throw error;
  }
}

async function shortenOne(client: Client, terminal: Terminal, url: string, options: Options) {
  const { alias, qr, copy, json } = options;
  const link = await client.links.create({
    ...fieldsOf(url, options),
    ...present({ alias }),
  });
  if (qr !== undefined) {
    const image = await client.links.qr(link.id, { format: qr.format });
    writeFileSync(qr.path, Buffer.from(await image.arrayBuffer()));
  }
  if (json) terminal.printJson(link);
  else terminal.print(link.short_url);
  if (copy && terminal.isForPeople && (await copyText(link.short_url))) terminal.say("Copied.");
}

async function shortenMany(
  client: Client,
  terminal: Terminal,
  urls: readonly string[],
  options: Options,
) {
  const { data } = await client.links.createMany(urls.map((url) => fieldsOf(url, options)));
  for (const item of data) {
    const url = urls[item.index] ?? "";
    if ("error" in item) terminal.failed = true;
    if (options.json) {
      terminal.printJson("error" in item ? { url, error: item.error } : item.link);
    } else if ("error" in item) {
      terminal.say(`${url}: ${item.error.message}`);
    } else {
      terminal.print(`${item.link.short_url}\t${url}`);
    }
  }
}

const fieldsOf = (url: string, { domain, title, tag, expires }: Options): NewLink => ({
  url,
  ...present({ domain, title, expires_at: expires }),
  ...(tag.length === 0 ? {} : { tags: tag }),
});

async function* inBatches(lines: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const line of lines) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Collects the values of an option that is repeated. */
export const collect = (value: string, before: string[]): string[] => [...before, value];

function parseQrFile(path: string): QrFile {
  const format = QR_FORMATS.find((each) => path.endsWith(`.${each}`));
  if (format === undefined)
    throw new InvalidArgumentError("Its name must end with .svg, .png or .pdf.");
  return { path, format };
}

/** Programs that copy their input, of macOS, Wayland, X11 and Windows. */
const COPIERS: readonly (readonly [string, ...string[]])[] = [
  ["pbcopy"],
  ["wl-copy"],
  ["xclip", "-selection", "clipboard"],
  ["clip.exe"],
];

/** Whether a program of the machine has copied the text. */
async function copyText(text: string): Promise<boolean> {
  for (const [program, ...options] of COPIERS) {
    const copied = await new Promise<boolean>((resolve) => {
      const copier = spawn(program, options, { stdio: ["pipe", "ignore", "ignore"] });
      copier.on("error", () => resolve(false)).on("exit", (code) => resolve(code === 0));
      copier.stdin.on("error", () => undefined).end(text);
    });
    if (copied) return true;
  }
  return false;
}

type Present<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined: to the client's types, an undefined one is not absent. */
export const present = <Fields extends object>(fields: Fields): Partial<Present<Fields>> =>
  // Only undefined values are left out.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<
    Present<Fields>
  >;
