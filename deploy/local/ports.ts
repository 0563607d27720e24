/** Finds ports: the preferred one where it is free, else any free one. */
import { createServer, type Server } from "node:net";

export type ChosenPort = { port: number; /** The preferred port is in use. */ taken: boolean };

/** Chooses a port for each name. All are held until the last is chosen, so that none is given twice. */
export async function choosePorts<Name extends string>(
  preferred: Record<Name, number>,
): Promise<Record<Name, ChosenPort>> {
  const held: Server[] = [];
  const chosen = {} as Record<Name, ChosenPort>; // Filled below for every name.
  try {
    // Those with a wish first: a port given out at random must not be one that is wished for.
    const names = (Object.keys(preferred) as Name[]).toSorted(
      (a, b) => preferred[b] - preferred[a],
    );
    for (const name of names) {
      const wish = preferred[name];
      const server = (await listen(wish)) ?? (await listen(0));
      if (server === undefined) throw new Error("The system gives out no free port.");
      held.push(server);
      const port = portOf(server);
      chosen[name] = { port, taken: wish !== 0 && port !== wish };
    }
  } finally {
    await Promise.all(held.map((server) => new Promise((done) => server.close(done))));
  }
  return chosen;
}

/** A port counts as free only if nobody listens on it at any address. */
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
