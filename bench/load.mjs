/**
 * `node bench/load.mjs`: autocannon with the options on its input, for Node.js; of many `clients`,
 * {path, headers} each, the requests take turns, and every connection begins at another one. Prints
 * autocannon's JSON.
 */
import { readFileSync } from "node:fs";

import autocannon from "autocannon";

const { clients, ...options } = JSON.parse(readFileSync(0, "utf8"));
let connection = 0;
const result = await autocannon({
  ...options,
  setupClient(client) {
    if (clients === undefined) return;
    const offset = Math.floor((connection++ * clients.length) / options.connections);
    const turned = [...clients.slice(offset), ...clients.slice(0, offset)];
    client.setRequests(turned.map((each) => ({ method: "GET", ...each })));
  },
});
console.log(JSON.stringify(result));
