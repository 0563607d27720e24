/** Responses about users, their sessions and members of accounts, of the dashboard's own API. */
import * as z from "zod";

import { ROLES } from "./users.ts";

/** How people can sign in. */
export const methodsResponse = z.object({
  /** The name of the provider, if there is one. */
  provider: z.string().nullable(),
  /** Whether the provider is the only way, but for one user. */
  provider_only: z.boolean(),
});

export const sessionResponse = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  /** Whether the user signs in with a password; else with the provider. */
  has_password: z.boolean(),
  accounts: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      plan: z.string(),
      role: z.enum(ROLES),
      /** Whether the user has to set up a second factor to work in it. */
      needs_second_factor: z.boolean(),
    }),
  ),
  /** Where short links are served. */
  short_url: z.string(),
  /** Whether mails are set up: without them, reports have no recipients. */
  sends_mails: z.boolean(),
});

export const deviceListResponse = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      user_agent: z.string().nullable(),
      browser: z.string().nullable(),
      os: z.string().nullable(),
      created_at: z.iso.datetime(),
      last_seen_at: z.iso.datetime(),
      current: z.boolean(),
    }),
  ),
});

export const secondFactorResponse = z.object({
  enabled: z.boolean(),
  recovery_codes_left: z.int(),
});

/** Only this response contains the secret, as a URI and as the image of a QR code. */
export const enrolmentResponse = z.object({
  uri: z.string(),
  qr: z.string(),
  recovery_codes: z.array(z.string()),
});

export const recoveryCodesResponse = z.object({ recovery_codes: z.array(z.string()) });

export const passkeyListResponse = z.object({
  data: z.array(z.object({ id: z.string(), name: z.string(), created_at: z.iso.datetime() })),
});

const memberResponse = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
});

export const invitationResponse = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});

export const memberListResponse = z.object({
  /** Roles whose members need a second factor. */
  second_factor_roles: z.array(z.enum(ROLES)),
  members: z.array(memberResponse),
  invitations: z.array(invitationResponse),
});

/** An invitation as the holder of its link may see it. */
export const invitationOfferResponse = z.object({
  account_name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  /** Whether a user with this address exists, who signs in to accept. */
  known: z.boolean(),
});

export const acceptedResponse = z.object({ account_id: z.string() });

export type SignInMethods = z.output<typeof methodsResponse>;
export type Session = z.output<typeof sessionResponse>;
export type Account = Session["accounts"][number];
export type UserSession = z.output<typeof deviceListResponse>["data"][number];
export type SecondFactorState = z.output<typeof secondFactorResponse>;
export type Enrolment = z.output<typeof enrolmentResponse>;
export type Passkey = z.output<typeof passkeyListResponse>["data"][number];
export type Member = z.output<typeof memberResponse>;
export type Invitation = z.output<typeof invitationResponse>;
export type MemberList = z.output<typeof memberListResponse>;
export type InvitationOffer = z.output<typeof invitationOfferResponse>;
