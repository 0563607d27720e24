/** Request and response bodies of `/auth`. */
import * as z from "zod";

import {
  appCode,
  email,
  newPassword,
  plainPassword,
  signInCode,
  userName,
} from "../../shared/contracts/users.ts";
import { CATALOGUES, FALLBACK } from "../../shared/languages/catalogues.ts";
import { successResponse } from "../http/common-schemas.ts";

export const signInBody = z.strictObject({ email, password: plainPassword });

/** With `url`, the browser goes there to end the session of the provider. */
export const signOutResponse = successResponse.extend({ url: z.string().optional() });

/** Whether a code is needed, which `/auth/sign-in/code` takes. */
export const signInResponse = successResponse.extend({ needs_code: z.boolean() });

export const signInByCodeBody = z.strictObject({ code: signInCode });

/** A user who changes how they sign in enters their password. */
export const passwordBody = z.strictObject({ password: plainPassword });

export const confirmBody = z.strictObject({ code: appCode });

/** Of an authenticator, in base64url: longer than any signature or attestation. */
const webAuthnText = z.string().max(16_384);

const webAuthnShape = {
  id: z.string().max(1_400),
  rawId: z.string().max(1_400),
  type: z.literal("public-key"),
  clientExtensionResults: z.object({}),
};

/** `toJSON()` of a credential that a browser has made. */
const passkeyAttestation = z.object({
  ...webAuthnShape,
  response: z.object({
    clientDataJSON: webAuthnText,
    attestationObject: webAuthnText,
    transports: z.array(z.string().max(20)).max(10).optional(),
  }),
});

export type PasskeyAttestation = z.output<typeof passkeyAttestation>;

/** `toJSON()` of a credential that a browser has used. */
const passkeyAnswer = z.object({
  ...webAuthnShape,
  response: z.object({
    clientDataJSON: webAuthnText,
    authenticatorData: webAuthnText,
    signature: webAuthnText,
  }),
});

export type PasskeyAnswer = z.output<typeof passkeyAnswer>;

export const addPasskeyBody = z.strictObject({ name: userName, response: passkeyAttestation });

export const signInByPasskeyBody = z.strictObject({ response: passkeyAnswer });

/** The options of a browser's call, as it reads them. */
export const webAuthnOptionsResponse = z.record(z.string(), z.unknown());

export const changePasswordBody = z.strictObject({
  current_password: plainPassword,
  new_password: newPassword,
});

export const requestResetBody = z.strictObject({
  email,
  /** The language of the mail. */
  language: z.enum(Object.keys(CATALOGUES)).default(FALLBACK),
});

export const useResetBody = z.strictObject({ password: newPassword });

export const resetOptionsResponse = z.object({
  /** Whether a link can be mailed; else an owner of the account or the operator makes one. */
  by_mail: z.boolean(),
});

/** Who has a link sets the password, so they may know whose it is. */
export const resetUserResponse = z.object({ email: z.string() });
