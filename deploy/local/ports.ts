/** Chooses ports: the preferred one if it is free, else any free one. */
import { createServer, type Server } from "node:net";

export type ChosenPort = { port: number; /** The preferred port is in use. */ taken: boolean };

/** Chooses a port for each name. Holds all of them until the last is chosen, so that none is chosen twice. */
export async function choosePorts<Name extends string>(
  preferred: Record<Name, number>,
): Promise<Record<Name, ChosenPort>> {
  const held: Server[] = [];
  const chosen = {} as Record<Name, ChosenPort>; // The loop fills it for every name.
  try {
    // Preferred ports first: a random port must not be one that another name prefers.
    const names = (Object.keys(preferred) as Name[]).toSorted(
      (a, b) => preferred[b] - preferred[a],
    );
    for (const name of names) {
      const wanted = preferred[name];
      const server = (await listen(wanted)) ?? (await listen(0));
      if (server === undefined) throw new Error("There is no free port on this machine.");
      held.push(server);
      const port = portOf(server);
      chosen[name] = { port, taken: wanted !== 0 && port !== wanted };
    }
  } finally {
    await Promise.all(held.map((server) => new Promise((done) => server.close(done))));
  }
  return chosen;
}

/** Listens on all addresses, because a port is free only if no process listens on it at any address. */
const listen = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen({ port, host: "0.0.0.0", exclusive: true }, () => resolve(server));
  });

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}
