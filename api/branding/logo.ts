/**
 * Re-encodes uploaded logos with Bun's own codecs (libspng, libjpeg-turbo, libwebp): what is
 * stored and shown is an image that this process has drawn, without scripts or metadata.
 */
import { createConcurrencyLimit } from "../concurrency-limit.ts";
import { invalidField, unavailable } from "../http/errors.ts";

/** Formats by the content of a file; Bun ignores its name and declared type. */
const FORMATS: ReadonlySet<string> = new Set(["png", "jpeg", "webp"]);

/** Maximum pixels of an uploaded image, which take four bytes each while it is decoded. */
const PIXELS_MAX = 4_000_000;

/** The box of a stored logo, in pixels: twice that of the page, for dense screens. */
const BOX = { width: 480, height: 112 };

/** Maximum bytes of a stored logo: it is part of every page. */
const STORED_BYTES_MAX = 32 * 1024;

/** Tried in this order until the image is small enough. */
const QUALITIES = [90, 75, 50];

/** Each takes up to a tenth of a second of a core. */
const ENCODING = { running: 1, waiting: 16, waitMs: 5_000 };

const limit = createConcurrencyLimit(ENCODING, () =>
  unavailable(new Error("Too many logos are being encoded.")),
);

/** Returns the logo as WebP; throws `invalid_request` for what is no image, or too large. */
export const encodeLogo = (bytes: Uint8Array): Promise<Buffer> => limit(() => encode(bytes));

async function encode(bytes: Uint8Array): Promise<Buffer> {
  const { format, width, height } = await readMetadata(bytes);
  if (!FORMATS.has(format)) throw invalidField("logo", NOT_AN_IMAGE);
  if (width * height > PIXELS_MAX) throw invalidField("logo", TOO_MANY_PIXELS);
  for (const quality of QUALITIES) {
    const encoded = await draw(bytes, quality);
    if (encoded.length <= STORED_BYTES_MAX) return encoded;
  }
  throw invalidField("logo", "must be a simpler image: it has too much detail for its size");
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

async function draw(bytes: Uint8Array, quality: number): Promise<Buffer> {
  try {
    return await new Bun.Image(bytes, { maxPixels: PIXELS_MAX })
      .resize(BOX.width, BOX.height, { fit: "inside", withoutEnlargement: true })
      .webp({ quality })
      .buffer();
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
