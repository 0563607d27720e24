/** Calls everything that npm's `yourls` has, and prints what came of it. */
import "./redirect.mjs";
import { promisify } from "node:util";

import Yourls from "yourls";

const yourls = new Yourls("https://yourls.example.com", process.env.KEY);
const call = (method, ...args) => promisify(yourls[method].bind(yourls))(...args);
const { KEYWORD: keyword } = process.env;
const created = await call("vanity", "https://example.com/yourls", keyword);
const results = {
  created,
  again: await call("shorten", "https://example.com/yourls"),
  expanded: await call("expand", created.shorturl),
  stats: await call("urlstats", keyword),
  totals: await call("dbstats"),
  taken: await call("vanity", "https://example.com/other", keyword),
};
console.log(JSON.stringify(results));
