/**
 * What people have on their devices to sign in: an authenticator of passkeys (WebAuthn), which
 * makes keys and signs, and an app for one-time codes (RFC 6238).
 */
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_KEY = 0x40;

type Settings = {
  /** Of the page that asks. */
  origin: string;
  /** Whether it has asked for a fingerprint or a PIN. */
  isVerified?: boolean;
};

export class Authenticator {
  readonly #id = randomBytes(16);
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  #uses = 0;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    this.#key = privateKey;
    // A COSE key: EC2, ES256, P-256, x and y.
    this.#publicKey = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      Buffer.from(x, "base64url"),
      Buffer.from("225820", "hex"),
      Buffer.from(y, "base64url"),
    ]);
  }

  /** What a browser returns of a new passkey. */
  create(challenge: unknown, settings: Settings) {
    const data = Buffer.concat([
      this.#describe(settings, HAS_KEY),
      Buffer.alloc(16),
      Buffer.from([0, this.#id.length]),
      this.#id,
      this.#publicKey,
    ]);
    // CBOR: a map of `fmt`, `attStmt` and `authData`.
    const attestation = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746158", "hex"),
      Buffer.from([data.length]),
      data,
    ]);
    return this.#answer({
      clientDataJSON: clientData("webauthn.create", challenge, settings).toString("base64url"),
      attestationObject: attestation.toString("base64url"),
    });
  }

  /** What a browser returns of this passkey when somebody signs in with it. */
  get(challenge: unknown, settings: Settings) {
    this.#uses++;
    const client = clientData("webauthn.get", challenge, settings);
    const data = this.#describe(settings, 0);
    const signature = sign("sha256", Buffer.concat([data, sha256(client)]), this.#key);
    return this.#answer({
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: signature.toString("base64url"),
    });
  }

  #describe({ origin, isVerified = true }: Settings, flags: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#uses);
    const verified = isVerified ? USER_VERIFIED : 0;
    return Buffer.concat([
      sha256(new URL(origin).hostname),
      Buffer.from([USER_PRESENT | verified | flags]),
      counter,
    ]);
  }

  #answer<Response>(response: Response) {
    const id = this.#id.toString("base64url");
    const type = "public-key" as const;
    return { id, rawId: id, type, clientExtensionResults: {}, response };
  }
}

const clientData = (type: string, challenge: unknown, { origin }: Settings): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

const STEP_SECONDS = 30;
const DIGITS = 6;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * The code of a secret, by the URI of its QR code, at this time or `steps` steps later: a code that
 * was used is not accepted again.
 */
export function codeOf(uri: string, steps = 0): string {
  const secret = decodeBase32(new URL(uri).searchParams.get("secret") ?? "");
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1_000 / STEP_SECONDS) + steps));
  const hash = createHmac("sha1", secret).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  const number = (hash.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, "0");
}

function decodeBase32(text: string): Buffer {
  const bits = text.split("").map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0"));
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}
