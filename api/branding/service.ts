/** How an account presents itself on the pages of its shared statistics and in QR codes. */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import { type QrStyle, qrStyleFields } from "../../shared/contracts/qr-style.ts";
import {
  brandColorMeta,
  brandNameMeta,
  type changeBrandingBody,
  qrStyleMeta,
} from "../../shared/contracts/share-schemas.ts";
import { recordEvents } from "../events/record.ts";
import { presentFields, textOrNull } from "../http/common-schemas.ts";
import { invalidField } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { drawInTurn, type Payer } from "../limits/budgets.ts";
import type { Sql, Transaction } from "../postgres.ts";

type ChangeBrandingBody = z.output<typeof changeBrandingBody>;

export type Brand = {
  name: string | null;
  /** As chosen, `#rrggbb`. */
  color: string | null;
  /** A WebP image. */
  logo: Buffer | null;
};

/** The part of the branding that QR codes have. */
export type QrBranding = {
  /** How QR codes look unless a request says otherwise. */
  qrStyle: QrStyle | null;
  logo: Buffer | null;
};

export type Branding = Brand & QrBranding;

/** The branding of an account that has chosen none. */
export const NO_BRANDING: Branding = { name: null, color: null, logo: null, qrStyle: null };

const savedQrStyle = component("QrStyle", "How QR codes look.", qrStyleFields);

export const brandingResponse = component(
  "Branding",
  "How the account presents itself to readers of shared statistics, and how its QR codes look.",
  {
    name: z.string().nullable().meta(brandNameMeta),
    color: z.string().nullable().meta(brandColorMeta),
    logo: textOrNull(
      "The logo as a `data:` URL of a WebP image; null for none.",
      "data:image/webp;base64,UklGRiQA…",
    ),
    qr_style: savedQrStyle.nullable().meta(qrStyleMeta),
  },
);

/** The image as a `data:` URL, which needs no request. */
export const toLogoUrl = (logo: Buffer): string =>
  `data:image/webp;base64,${logo.toString("base64")}`;

export const toBrandingResponse = ({
  name,
  color,
  logo,
  qrStyle,
}: Branding): z.output<typeof brandingResponse> => ({
  name,
  color,
  logo: logo === null ? null : toLogoUrl(logo),
  qr_style: qrStyle,
});

export class BrandingService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(owner: AccountScope): Promise<Branding> {
    return (await findBranding(this.#sql, owner)) ?? NO_BRANDING;
  }

  /** Finds the saved style of QR codes, and the logo if it is drawn. */
  async findForQr(owner: AccountScope, wantsLogo: boolean | undefined): Promise<QrBranding> {
    return (await findQrBranding(this.#sql, owner, wantsLogo)) ?? NO_BRANDING;
  }

  /**
   * Changes the fields that the body has; null removes one. Throws `invalid_request` for a logo
   * that is no image, `rate_limited`, and `QueueFull` when too many are being drawn.
   */
  async change(owner: Author & Payer, body: ChangeBrandingBody): Promise<Branding> {
    const { name, color, logo, qr_style } = body;
    const change = presentFields({
      name,
      color: typeof color === "string" ? color.toLowerCase() : color,
      logo:
        typeof logo === "string"
          ? await drawInTurn(owner, () => encodeLogo(Buffer.from(logo, "base64")))
          : logo,
      qrStyle: qr_style,
    });
    return await this.#sql.begin(async (sql) => {
      const branding = await changeBranding(sql, owner, change);
      const data = { branding: { fields: Object.keys(change) } };
      await recordEvents(sql, owner, [{ type: "branding.updated", objectId: null, data }]);
      return branding;
    });
  }
}

export async function findBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<Branding | undefined> {
  const [row] = await sql<Branding[]>`
    select name, color, logo, qr_style as "qrStyle" from account_branding
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/**
 * The owner's style of QR codes; and the logo, up to 32 KiB, only if it is wanted, by default by
 * the style.
 */
export async function findQrBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
  wantsLogo: boolean | undefined,
): Promise<QrBranding | undefined> {
  const [row] = await sql<QrBranding[]>`
    select qr_style as "qrStyle",
           case when coalesce(${wantsLogo ?? null}::boolean, (qr_style ->> 'logo')::boolean) then logo end as logo
      from account_branding
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Changes fields of the owner's branding, and counts the change. */
export async function changeBranding(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  change: Partial<Branding>,
): Promise<Branding> {
  const { name, color, logo, qrStyle } = change;
  const style = qrStyle === undefined || qrStyle === null ? null : sql.json(qrStyle);
  const [row] = await sql<[Branding]>`
    insert into account_branding as b (account_id, mode, name, color, logo, qr_style)
    values (${accountId}, ${mode}, ${name ?? null}, ${color ?? null}, ${logo ?? null}, ${style})
    on conflict (account_id, mode) do update
       set name = case when ${name !== undefined} then excluded.name else b.name end,
           color = case when ${color !== undefined} then excluded.color else b.color end,
           logo = case when ${logo !== undefined} then excluded.logo else b.logo end,
           qr_style = case when ${qrStyle !== undefined} then excluded.qr_style else b.qr_style end,
           version = b.version + 1,
           updated_at = now()
    returning name, color, logo, qr_style as "qrStyle"`;
  return row;
}

// Re-encodes uploaded logos with Bun's own codecs (libspng, libjpeg-turbo, libwebp): what is
// stored and shown is an image that this process has drawn, without scripts or metadata.

/**
 * How the files of the formats begin. Others are not shown to the codecs, which would read the
 * headers of many more.
 */
const SIGNATURES = [
  { at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { at: 0, bytes: "\xff\xd8\xff" },
  { at: 8, bytes: "WEBP" },
];

/** Maximum pixels of an uploaded image, which take four bytes each while it is decoded. */
const PIXELS_MAX = 4_000_000;

/** The box of a stored logo, in pixels: twice that of the page, for dense screens. */
const BOX = { width: 480, height: 112 };

/** Maximum bytes of a stored logo: it is part of every page. */
const STORED_BYTES_MAX = 32 * 1024;

/** Tried in this order until the image is small enough. */
const QUALITIES = [90, 75, 50];

/** The marker that begins a scan of a JPEG image. */
const SCAN = Buffer.from([0xff, 0xda]);

/**
 * Maximum scans of a JPEG image, each of which is a pass over all its pixels: programs write about
 * ten. Counted in all of the file, so that no codec can see more of them.
 */
const SCANS_MAX = 100;

/** Returns the logo as WebP; throws `invalid_request` for what is no image, or too large. */
export async function encodeLogo(bytes: Uint8Array): Promise<Buffer> {
  await requireDrawable(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  // Decoded once; the qualities are tried on the small image.
  const small = await draw(bytes, (image) =>
    image
      .resize(BOX.width, BOX.height, { fit: "inside", withoutEnlargement: true })
      .webp({ lossless: true }),
  );
  for (const quality of QUALITIES) {
    const encoded = await draw(small, (image) => image.webp({ quality }));
    if (encoded.length <= STORED_BYTES_MAX) return encoded;
  }
  throw invalidField("logo", "must be a simpler image: it has too much detail for its size");
}

/** Throws `invalid_request` for what is no image, or takes too long to decode. */
async function requireDrawable(bytes: Buffer): Promise<void> {
  const isKnown = SIGNATURES.some(
    ({ at, bytes: start }) => bytes.toString("latin1", at, at + start.length) === start,
  );
  if (!isKnown) throw invalidField("logo", NOT_AN_IMAGE);
  const { format, width, height } = await readMetadata(bytes);
  if (width * height > PIXELS_MAX) throw invalidField("logo", TOO_MANY_PIXELS);
  if (format === "jpeg" && hasManyScans(bytes))
    throw invalidField("logo", `must have at most ${SCANS_MAX} scans: save it as a usual JPEG`);
}

function hasManyScans(bytes: Buffer): boolean {
  let at = -1;
  for (let scans = 0; scans <= SCANS_MAX; scans++) {
    at = bytes.indexOf(SCAN, at + 1);
    if (at < 0) return false;
  }
  return true;
}

const NOT_AN_IMAGE = "must be a PNG, JPEG or WebP image";
const TOO_MANY_PIXELS = `must have at most ${PIXELS_MAX.toLocaleString("en")} pixels`;

async function readMetadata(bytes: Uint8Array): Promise<Bun.Image.Metadata> {
  try {
    return await new Bun.Image(bytes, { maxPixels: PIXELS_MAX }).metadata();
  } catch (error) {
    throw toProblem(error);
  }
}

async function draw(bytes: Uint8Array, change: (image: Bun.Image) => Bun.Image): Promise<Buffer> {
  try {
    return await change(new Bun.Image(bytes, { maxPixels: PIXELS_MAX })).buffer();
  } catch (error) {
    throw toProblem(error);
  }
}

/** The codecs' errors are about the image, which is the client's. */
const toProblem = (error: unknown) =>
  invalidField(
    "logo",
    error instanceof Error && "code" in error && error.code === "ERR_IMAGE_TOO_MANY_PIXELS"
      ? TOO_MANY_PIXELS
      : NOT_AN_IMAGE,
  );
