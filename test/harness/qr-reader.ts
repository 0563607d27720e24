/** Reads QR codes as a phone does: from pixels, by libraries that have no part in drawing them. */
import { PDFiumLibrary } from "@hyzyla/pdfium";
import { Resvg } from "@resvg/resvg-js";
import { PNG } from "pngjs";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";

/** Four bytes per pixel. */
type Bitmap = { width: number; height: number; data: Uint8Array };

let pdfium: Promise<PDFiumLibrary> | undefined;

// Without its program it would be fetched from a public server.
prepareZXingModule({
  overrides: {
    wasmBinary: await Bun.file(
      Bun.resolveSync("zxing-wasm/reader/zxing_reader.wasm", import.meta.dir),
    ).arrayBuffer(),
  },
});

/** The text of the code in an image; undefined if there is none that can be read. */
export async function readQr(
  type: string,
  image: string | Uint8Array,
): Promise<string | undefined> {
  const { data, width, height } = await toBitmap(type, image);
  const [code] = await readBarcodes(
    { data: new Uint8ClampedArray(data), width, height, colorSpace: "srgb" },
    // Dark codes on light backgrounds, as all scanners read them.
    { formats: ["QRCode"], tryInvert: false, maxNumberOfSymbols: 1 },
  );
  return code?.text;
}

/** Renders an SVG, PNG or PDF image. */
export async function toBitmap(type: string, image: string | Uint8Array): Promise<Bitmap> {
  if (type === "image/svg+xml") {
    const rendered = new Resvg(
      typeof image === "string" ? image : new TextDecoder().decode(image),
    ).render();
    return { width: rendered.width, height: rendered.height, data: rendered.pixels };
  }
  if (type === "image/png") return PNG.sync.read(Buffer.from(image));
  if (type === "application/pdf") return await renderPdf(Buffer.from(image));
  throw new Error(`No image is of the type ${type}.`);
}

async function renderPdf(bytes: Uint8Array): Promise<Bitmap> {
  pdfium ??= PDFiumLibrary.init();
  const document = await (await pdfium).loadDocument(bytes);
  try {
    return await document.getPage(0).render({ scale: 1, render: "bitmap" });
  } finally {
    document.destroy();
  }
}
