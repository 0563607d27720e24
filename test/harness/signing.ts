/** The keys with which tests sign the links log. */
import { LogSigner } from "../../shared/links-log/signature.ts";

export const SIGNING_KEY = "5".repeat(64);

/** The signer of a stack, or of services that have no key of their own. */
export const signerOf = ({
  links_signing_key: key = SIGNING_KEY,
}: {
  links_signing_key?: string | undefined;
}) => new LogSigner({ LINKS_SIGNING_KEY: key, LINKS_PUBLIC_KEYS: [] });

export const SIGNER = signerOf({});
