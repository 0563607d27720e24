/** What rules can know of a request. */
import type { Agent } from "../visitors/user-agent.ts";

/** A user agent's names, and the same in lower case, in which they are compared. */
export type AgentNames = { names: Names; lower: Names };

type Names = { browser: string; os: string; device: string };

/** Facts are computed when a rule first needs them: most links ask for none. */
export type RequestFacts = {
  /** Unix milliseconds. */
  now(): number;
  /** The client's address; "" when it is not known. */
  address(): string;
  /** Country and continent of the address; undefined without data. */
  location(): { country: string; continent: string } | undefined;
  /** The header `User-Agent`, as far as a click keeps it: each byte is one character. */
  userAgent(): string;
  /** undefined when it may not be parsed now. */
  agent(): AgentNames | undefined;
  /** The preferred language, in lower case; "" for none. */
  language(): string;
  /** Where the visitor came from, as analytics names it: a registrable host, or `direct`. */
  source(): string;
  /** The values of a parameter of the short URL. */
  parameter(name: string): readonly string[];
};

/** The names of a user agent. */
export const toAgentNames = ({ browser, os, device }: Pick<Agent, keyof Names>): AgentNames => ({
  names: { browser, os, device },
  lower: { browser: browser.toLowerCase(), os: os.toLowerCase(), device },
});
