/** Passkeys of this browser: what the browser's own interface (WebAuthn) makes and uses. */

/** Whether the browser has passkeys, and their options as JSON. */
export const hasPasskeys = (): boolean =>
  typeof PublicKeyCredential === "function" &&
  "parseRequestOptionsFromJSON" in PublicKeyCredential &&
  "toJSON" in PublicKeyCredential.prototype;

/** Makes a passkey by the API's options; undefined when the user has cancelled that. */
export async function makePasskey(
  options: PublicKeyCredentialCreationOptionsJSON,
): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return await answerOf(navigator.credentials.create({ publicKey }));
}

/** Lets the user choose a passkey, as above. */
export async function choosePasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return await answerOf(navigator.credentials.get({ publicKey }));
}

async function answerOf(asked: Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = await asked;
    return credential instanceof PublicKeyCredential ? withoutMore(credential) : undefined;
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

/** Results of extensions are of no use: none are asked for. */
const withoutMore = (credential: PublicKeyCredential) => ({
  ...credential.toJSON(),
  clientExtensionResults: {},
});
