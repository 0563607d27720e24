/** The fields of shares. */
import { DEFAULT_QR_STYLE } from "../../../shared/contracts/qr-style.ts";
import { EXPIRES_AT, LINK_ID, LOGO, SHARE_ID, SHARE_TOKEN } from "./examples.ts";
import type { Prose } from "./types.ts";

const id: Prose = { text: "The share's id, for the paths of this API.", example: SHARE_ID };
const linkId: Prose = { text: "The link; null for all links of the account.", example: LINK_ID };
const name: Prose = { text: "The title of the page; readers see it.", example: "Spring campaign" };
const breakdowns: Prose = {
  text: "The dimensions that readers see; none for sums and times only.",
  example: ["country", "device", "referrer"],
};
const timezone: Prose = {
  text: "The IANA time zone whose days and hours group the clicks.",
  example: "Europe/Berlin",
};
const origins: Prose = {
  text: "Origins whose pages may embed the page; none by default.",
  example: ["https://www.example.com"],
};
const expires: Prose = {
  text: "When the URL stops working; null for never.",
  example: EXPIRES_AT,
};
const password: Prose = {
  text: "A password that readers have to enter; null for none.",
  example: "correct horse battery",
};

const brandName: Prose = { text: "The name above the statistics; null for none.", example: "Acme" };
const brandColor: Prose = {
  text: "The colour of chart, map and links, as `#rrggbb`; null for that of the dashboard.",
  example: "#1d4ed8",
};

const qrStyle: Prose = {
  text: "How QR codes look where a request does not say otherwise; null for black squares on white.",
  example: { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "rounded" },
};

export const SHARE_FIELDS: Readonly<Record<string, Prose>> = {
  "Branding.name": brandName,
  "BrandingChange.name": brandName,
  "Branding.color": brandColor,
  "BrandingChange.color": brandColor,
  "Branding.logo": {
    text: "The logo as a `data:` URL of a WebP image; null for none.",
    example: "data:image/webp;base64,UklGRiQA…",
  },
  "BrandingChange.logo": {
    text: "A PNG, JPEG or WebP image in Base64, of up to 512 KiB; null for none.",
    example: LOGO,
  },
  "Branding.qr_style": qrStyle,
  "BrandingChange.qr_style": qrStyle,
  "Share.id": id,
  "ShareWithUrl.id": id,
  "NewShare.link_id": linkId,
  "Share.link_id": linkId,
  "ShareWithUrl.link_id": linkId,
  "NewShare.name": name,
  "ShareChange.name": name,
  "Share.name": name,
  "ShareWithUrl.name": name,
  "SharedStatistics.name": name,
  "NewShare.breakdowns": {
    ...breakdowns,
    text: "The dimensions that readers see: country, device and referrer when left out.",
  },
  "ShareChange.breakdowns": breakdowns,
  "Share.breakdowns": breakdowns,
  "ShareWithUrl.breakdowns": breakdowns,
  "NewShare.timezone": timezone,
  "ShareChange.timezone": timezone,
  "Share.timezone": timezone,
  "ShareWithUrl.timezone": timezone,
  "SharedStatistics.timezone": timezone,
  embed_origins: origins,
  "NewShare.expires_at": expires,
  "ShareChange.expires_at": expires,
  "Share.expires_at": expires,
  "ShareWithUrl.expires_at": expires,
  "NewShare.password": password,
  "ShareChange.password": password,
  token: {
    text: "The secret part of the URL. Only this response has it: store it now.",
    example: SHARE_TOKEN,
  },
  "ShareWithUrl.url": {
    text: "The page to hand out. Only this response has it: store it now.",
    example: `https://api.example.com/shared/${SHARE_TOKEN}`,
  },
  "SharePassword.password": {
    text: "The password that was handed out with the URL.",
    example: "correct horse battery",
  },
  access_token: {
    text: "Send it in `X-Share-Access`.",
    example: "1772446500.q1Zt…",
  },
  "ShareAccess.expires_at": { text: "When the access ends.", example: "2026-03-02T10:15:00.000Z" },
  "SharedStatistics.short_url": {
    text: "The link's short URL; null for all links.",
    example: "https://short.example.com/spring-sale",
  },
  "SharedStatistics.period": { text: "The period of the query.", example: "7d" },
  "SharedStatistics.breakdowns": { text: "The dimensions that are shared." },
  "SharedStatistics.by": { text: "The dimension.", example: "country" },
  "SharedStatistics.data": { text: "The values with the most clicks, ten at most." },
  "SharedStatistics.values": {
    text: "The value. A region has its country too, and a city its country and region.",
    example: { country: "DE" },
  },
};
