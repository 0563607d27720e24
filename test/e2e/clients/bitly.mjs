/** Calls everything that npm's `bitly` has, and prints what came of it. */
import "./redirect.mjs";
import { BitlyClient } from "bitly";

const bitly = new BitlyClient(process.env.KEY);
const { created_at, id, link, long_url } = await bitly.shorten("https://example.com/bitly");
const again = await bitly.shorten(long_url);
const hash = id.split("/").at(-1);
const patch = { title: "Changed", tags: ["a"] };
const results = {
  link,
  isKnown: again.id === id && again.created_at === created_at,
  expanded: (await bitly.expand(hash)).long_url,
  changed: await bitly.bitlyRequest(`bitlinks/bit.ly/${hash}`, patch, "PATCH"),
  info: await bitly.info(link),
  clicks: await bitly.clicks(id, "month", 2),
  byDay: await bitly.clicksByDay(hash),
  countries: await bitly.countries(link),
  referrers: await bitly.referrers(link),
  refused: await bitly.clicksByMinute(link).catch((error) => error.message),
};
console.log(JSON.stringify(results));
