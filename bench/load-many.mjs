/**
 * `node bench/load-many.mjs FILE`: as autocannon's command, with the requests of many clients in
 * turn. FILE holds {url, connections, duration, clients: [{path, headers}]}. Every connection
 * begins at another one. Prints autocannon's JSON.
 */
import { readFileSync } from "node:fs";

import autocannon from "autocannon";

const { clients, ...options } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let connection = 0;
const result = await autocannon({
  ...options,
  setupClient(client) {
    const offset = Math.floor((connection++ * clients.length) / options.connections);
    const turned = [...clients.slice(offset), ...clients.slice(0, offset)];
    client.setRequests(turned.map((each) => ({ method: "GET", ...each })));
  },
});
console.log(JSON.stringify(result));
