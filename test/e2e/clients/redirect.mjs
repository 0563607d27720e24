/**
 * Sends this process's requests to any host by HTTPS to the port `PORT` of this machine: for
 * clients that have the host of their product built in, or cannot name a port.
 */
import https from "node:https";
import tls from "node:tls";

https.globalAgent.createConnection = (options) =>
  tls.connect({ ...options, host: "127.0.0.1", port: Number(process.env.PORT) });
