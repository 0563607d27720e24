/**
 * Re-encodes uploaded logos with Bun's own codecs (libspng, libjpeg-turbo, libwebp): what is
 * stored and shown is an image that this process has drawn, without scripts or metadata.
 */
import { invalidField } from "../http/errors.ts";

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
