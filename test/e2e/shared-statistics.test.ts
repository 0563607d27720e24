/**
 * Goal: statistics are shown to their owner and to whom the owner has shared them with, and to
 * nobody else. Method: one account has clicks with values of its own. That no endpoint shows them
 * to another account, or the other mode, is in `test/api/analytics.test.ts` and `access.test.ts`.
 */
import { describe, expect, test } from "bun:test";

import { type Body, createClient } from "../../clients/typescript/src/index.ts";
import { COLUMN_FILTERS } from "../../shared/contracts/analytics.ts";
import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { type ApiResponse, call, CHROME, codeOf } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

/** Clicks of people and of bots; a number that occurs nowhere else. */
const CLICKS = 17;

const TAG = "marker-tag";

/** What only the owner's clicks have. */
const MARKERS = [
  "Mountain View",
  "marker-referrer.com",
  "marker-path",
  "marker-source",
  "marker-medium",
  "marker-campaign",
  "marker-term",
  "marker-content",
  TAG,
];

const api = (path: string) => `${stack.info().api_url}${path}`;

/** A new address per request, so that limits of addresses do not apply. */
let addresses = 0;
const fromElsewhere = () => ({
  "x-forwarded-for": `203.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`,
});
const read = (token: string, { query = "", headers = {} } = {}) =>
  call(api(`/v1/shared/${token}${query}`), { headers: { ...fromElsewhere(), ...headers } });
const open = (url: string, headers = {}) =>
  call(url, { headers: { accept: "text/html", ...fromElsewhere(), ...headers } });
/** A page without its style, which contains numbers as well. */
const withoutStyle = ({ body }: ApiResponse): string =>
  String(body).replaceAll(/<style>.*?<\/style>/gs, "");
const grant = async (of: string, password: string) =>
  (await shared.unlock(of, password)).access_token;
const unlock = (token: string, password: string) =>
  call(api(`/v1/shared/${token}/access`), { body: { password }, headers: fromElsewhere() });

const by = ({ key }: { key: string }) =>
  createClient({ baseUrl: stack.info().api_url, apiKey: key });

const share = (settings: Body<"createShare"> = {}) => shares.create(settings);

const stack = await forFile(useStack());
/** Keys of another account, and of the other mode of the owner's. */
const [owner, foreign] = await Promise.all([
  createAccount(stack, "enterprise", UNLIMITED),
  createAccount(stack, "enterprise", UNLIMITED),
]);
const scopes = "links:read,links:write,analytics:read,shares:read,shares:write";
const ofTest = await createKey(stack, owner.id, scopes, { type: "test" });
const { links, shares, shared, analytics } = by(owner);
const link = await links.create({ url: "https://example.com/secret-destination", tags: [TAG] });
for (const other of [foreign, ofTest])
  await by(other).links.create({ url: "https://example.com/", tags: [TAG] });
const utm = ["source", "medium", "campaign", "term", "content"]
  .map((name) => `utm_${name}=marker-${name}`)
  .join("&");
for (let i = 0; i < CLICKS; i++)
  await call(`${link.short_url}?_qr&${utm}`, {
    headers: {
      "x-forwarded-for": "8.8.8.8",
      "user-agent": CHROME,
      "accept-language": "eo",
      referer: "https://marker-referrer.com/marker-path",
    },
  });
await eventually(async () =>
  expect(await analytics.accountBreakdown({ by: "city" })).toMatchObject({ total_clicks: CLICKS }),
);

describe("shares", () => {
  test.each<[string, object]>([
    ["an unknown dimension", { breakdowns: ["visitor"] }],
    ["a dimension twice", { breakdowns: ["country", "country"] }],
    ["too many dimensions", { breakdowns: COLUMN_FILTERS.slice(0, 9) }],
    ["a short password", { password: "short" }],
    ["an origin with a path", { embed_origins: ["https://example.com/page"] }],
    ["an origin that ends the policy", { embed_origins: ["https://a;script-src *"] }],
    ["an origin of another scheme", { embed_origins: ["javascript:alert(1)"] }],
    ["all origins", { embed_origins: ["*"] }],
    ["a control character in the name", { name: "a\nb" }],
    ["an unknown field", { token: "mine" }],
  ])("are not made with %s", async (_, body) => {
    const list = async () => (await call(api("/v1/shares"), { key: foreign.key })).body;
    const before = await list();
    const response = await call(api("/v1/shares"), { key: foreign.key, body });
    expect(codeOf(response)).toEqual([400, "invalid_request"]);
    expect(await list()).toEqual(before);
  });

  test("are never shown with their URL or password again", async () => {
    const { id } = await share({ link_id: link.id, password: "correct horse" });
    for (const path of ["/v1/shares", `/v1/shares/${id}`]) {
      const { status, body } = await call(api(path), { key: owner.key });
      expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining(id)]);
      expect(JSON.stringify(body)).not.toMatch(/token|"url"|argon2id/);
    }
  });

  test("that do not exist have a page that says so, and are asked for a few times a minute", async () => {
    const headers = fromElsewhere();
    for (const method of ["GET", "POST"]) {
      const page = await call(api("/shared/none"), { method, headers: { ...headers } });
      expect([page.status, String(page.body)]).toEqual([
        404,
        expect.stringContaining("There are no statistics at this address."),
      ]);
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
    const long = await call(api("/shared/none"), { headers, body: "x".repeat(2_049) });
    expect(codeOf(long)).toEqual([413, "payload_too_large"]);
    const statuses = new Set<number>();
    for (let i = 0; i < 61; i++)
      statuses.add((await call(api("/v1/shared/none"), { headers })).status);
    expect([...statuses]).toEqual([404, 429]);
  });
});

describe("shared statistics", () => {
  test("show a link's sums and the chosen breakdowns, without a key", async () => {
    const { token } = await share({
      link_id: link.id,
      name: "Campaign",
      breakdowns: ["utm_source", "city"],
      timezone: "Europe/Berlin",
    });
    const { status, headers, body } = await read(token, { query: "?period=7d" });
    expect(status).toBe(200);
    expect(headers.get("x-robots-tag")).toContain("noindex");
    expect(body).toMatchObject({
      name: "Campaign",
      short_url: link.short_url,
      period: "7d",
      timezone: "Europe/Berlin",
      summary: { total_clicks: CLICKS },
      breakdowns: [
        {
          by: "city",
          data: [
            {
              values: { country: "US", region: "California", city: "Mountain View" },
              clicks: CLICKS,
              percentage: 100,
            },
          ],
        },
        {
          by: "utm_source",
          data: [{ values: { utm_source: "marker-source" }, clicks: CLICKS, percentage: 100 }],
        },
      ],
    });
    const text = JSON.stringify(body);
    // Neither what was not chosen, nor where the link leads, nor its id.
    for (const hidden of ["marker-medium", "marker-referrer", "secret-destination", link.id])
      expect(text).not.toContain(hidden);
  });

  test("take no question but when: no filter, no dimension, no moment", async () => {
    const { token } = await share({ link_id: link.id, breakdowns: ["country"] });
    const questions = [...COLUMN_FILTERS, "tag", "domain", "class", "by", "link_id", "account"];
    for (const name of questions)
      expect(codeOf(await read(token, { query: `?${name}=US` }))).toEqual([400, "invalid_request"]);
    // Moments would show single people.
    for (const query of [
      "start_date=2026-11-01T10:00:00Z",
      "end_date=2026-02-30",
      "start_date=2026-11-02&end_date=2026-11-01",
      "start_date=2020-01-01&end_date=2026-01-01",
      "timezone=Nowhere",
    ])
      expect(codeOf(await read(token, { query: `?${query}` }))).toEqual([400, "invalid_request"]);
  });

  test("are those of the chosen days and time zone, as the owner reads them", async () => {
    const { token, url } = await share({ link_id: link.id, timezone: "Europe/Berlin" });
    const today = new Date().toISOString().slice(0, 10);
    const dayBefore = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    for (const query of [
      { start_date: dayBefore, end_date: today, timezone: "Asia/Kathmandu" },
      { start_date: dayBefore, end_date: dayBefore, timezone: "UTC" },
      { period: "24h", timezone: "America/St_Johns" },
    ] as const) {
      const { period, summary, clicks_over_time } = await analytics.summary(link.id, query);
      const shown = await shared.get(token, query);
      expect([shown.period, shown.summary, shown.clicks_over_time]).toEqual([
        period,
        summary,
        clicks_over_time,
      ]);
    }
    const page = await open(`${url}?start_date=${dayBefore}&end_date=${today}&timezone=UTC`);
    expect(page.status).toBe(200);
    expect(page.body).toContain(`<span class="stat-value">${CLICKS}</span>`);
    // A form sends its empty fields as well, and its mistakes are explained on a page.
    expect((await open(`${url}?start_date=&end_date=&timezone=`)).status).toBe(200);
    const wrong = await open(`${url}?timezone=Nowhere`);
    expect([wrong.status, wrong.headers.get("content-type")]).toEqual([
      400,
      "text/html; charset=utf-8",
    ]);
    expect(wrong.body).toContain("IANA time zone");
  });

  test("of an account have the clicks of its mode, and of no other account", async () => {
    const [live, other, test] = await Promise.all([
      share(),
      by(foreign).shares.create(),
      by(ofTest).shares.create(),
    ]);
    const all = { summary: { total_clicks: CLICKS }, short_url: null };
    expect((await read(live.token)).body).toMatchObject(all);
    for (const { token } of [other, test]) {
      const { body } = await read(token);
      expect(body).toMatchObject({ summary: { total_clicks: 0 } });
      for (const marker of MARKERS) expect(JSON.stringify(body)).not.toContain(marker);
    }
  });

  test("end with the next request: revoked, deleted with their link, or expired", async () => {
    const { id: removedLink } = await links.create({ url: "https://example.com/" });
    const revoked = await share({ link_id: link.id });
    const orphan = await share({ link_id: removedLink });
    const expiring = await share({
      link_id: link.id,
      expires_at: new Date(Date.now() + 3_000).toISOString(),
    });
    for (const { token, url } of [expiring, revoked, orphan]) {
      expect((await read(token)).status).toBe(200);
      expect((await open(url)).status).toBe(200);
    }
    await shares.revoke(revoked.id);
    await links.delete(removedLink);
    for (const { token, url } of [revoked, orphan]) {
      expect(codeOf(await read(token))).toEqual([404, "not_found"]);
      expect((await open(url)).status).toBe(404);
    }
    await eventually(async () => {
      expect(codeOf(await read(expiring.token))).toEqual([404, "not_found"]);
      const page = await open(expiring.url);
      expect(page.status).toBe(404);
      expect(withoutStyle(page)).not.toContain(String(CLICKS));
    });
    expect(codeOf(await read("A".repeat(43)))).toEqual([404, "not_found"]);
    expect(codeOf(await read("x"))).toEqual([404, "not_found"]);
  });

  test("with a password need it, and no longer open by an old one", async () => {
    const { id, token } = await share({ link_id: link.id, password: "correct horse" });
    const neighbour = await share({ link_id: link.id, password: "correct horse" });
    const reading = async (access: string) =>
      await read(token, { headers: { "x-share-access": access } });
    expect(codeOf(await read(token))).toEqual([401, "unauthorized"]);
    expect(codeOf(await unlock(token, "wrong horse!"))).toEqual([403, "forbidden"]);
    const foreignAccess = await grant(neighbour.token, "correct horse");
    for (const access of ["nonsense", foreignAccess])
      expect(codeOf(await reading(access))).toEqual([401, "unauthorized"]);
    const access = await grant(token, "correct horse");
    const all = { summary: { total_clicks: CLICKS } };
    expect((await reading(access)).body).toMatchObject(all);
    await shares.update(id, { password: "another horse" });
    expect(codeOf(await reading(access))).toEqual([401, "unauthorized"]);
    expect(codeOf(await unlock(token, "correct horse"))).toEqual([403, "forbidden"]);
    await shares.update(id, { password: null });
    expect((await read(token)).body).toMatchObject(all);
  });

  test("are read by people on a page, which asks for the password and can be framed where the owner allows", async () => {
    const embed = "https://www.example.com";
    const { url } = await share({
      link_id: link.id,
      password: "correct horse",
      embed_origins: [embed],
    });
    const form = await open(url);
    expect(form.status).toBe(401);
    expect(withoutStyle(form)).not.toContain(`${CLICKS}`);
    expect(form.headers.get("content-security-policy")).toContain(`frame-ancestors ${embed};`);
    expect(form.headers.get("x-frame-options")).toBeNull();
    expect(form.headers.get("x-robots-tag")).toContain("noindex");
    const post = (password: string) =>
      call(url, {
        method: "POST",
        body: `password=${encodeURIComponent(password)}`,
        headers: { "content-type": "application/x-www-form-urlencoded", ...fromElsewhere() },
      });
    const wrong = await post("wrong horse");
    expect([wrong.status, wrong.headers.get("set-cookie")]).toEqual([403, null]);
    const right = await post("correct horse");
    expect([right.status, right.headers.get("location")]).toEqual([303, new URL(url).pathname]);
    const [cookie = ""] = (right.headers.get("set-cookie") ?? "").split(";");
    const page = await open(url, { cookie });
    expect(page.status).toBe(200);
    expect(page.body).toContain(`<span class="stat-value">${CLICKS}</span>`);
    expect(page.headers.get("content-security-policy")).not.toContain("unsafe");
    const { url: closed } = await share({ link_id: link.id });
    const own = await open(closed);
    expect(own.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  test("have pages in German for those who read it, also without statistics; programs' responses are alike", async () => {
    const { url, token } = await share();
    const { url: locked } = await share({ password: "correct horse" });
    const wrong = { method: "POST", body: "password=wrong" };
    const form = { "content-type": "application/x-www-form-urlencoded" };
    for (const [page, status, text, options = {}] of [
      [url, 200, "Klicks im Zeitverlauf"],
      [`${url}?timezone=Atlantis`, 400, "Diese Zeitzone ist unbekannt."],
      [api("/shared/nothing"), 404, "keine Statistik"],
      [locked, 401, ">Passwort<"],
      [locked, 403, "Das Passwort ist falsch.", wrong],
    ] as const)
      for (const [accepted, language] of [
        ["de-CH, en;q=0.5", "de"],
        ["en-GB, de;q=0.5", "en"],
      ] as const) {
        const headers = { ...fromElsewhere(), ...form, "accept-language": accepted };
        const shown = await call(page, { ...options, headers });
        expect([page, shown.status, shown.headers.get("content-language")]).toEqual([
          page,
          status,
          language,
        ]);
        expect(shown.headers.get("vary")).toContain("Accept-Language");
        expect(String(shown.body)).toContain(`<html lang="${language}" dir="ltr">`);
        expect(String(shown.body).includes(text)).toBe(language === "de");
      }
    for (const asked of [token, "nothing"]) {
      const german = await read(asked, { headers: { "accept-language": "de" } });
      expect([german.status, german.body]).toEqual(
        [await read(asked)].flatMap(({ status, body }) => [status, body]),
      );
      expect(german.headers.get("content-language")).toBeNull();
      expect(german.headers.get("vary") ?? "").not.toContain("Accept-Language");
    }
  });
});
