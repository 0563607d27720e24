/** Schemas of errors, in the body of an error and in the entries of a bulk request. */
import * as z from "zod";

import { ERROR_CODES } from "./errors.ts";

const errorCode = z.enum(ERROR_CODES).meta({
  description:
    "A stable code for programs. New codes may be added: treat an unknown one by the status.",
  examples: ["invalid_request"],
  override: ({ jsonSchema }) => {
    // New codes may be added, so clients must accept unknown ones.
    delete jsonSchema.enum;
    jsonSchema["x-extensible-enum"] = ERROR_CODES;
  },
});

const message = z.string().meta({
  description: "A sentence for people; its wording may change.",
  examples: ["url is required."],
});

const param = z.string().meta({
  description:
    "The field or query parameter that the error is about, with dots for fields of fields.",
  examples: ["url"],
});

const errorDetail = z
  .object({ param, message })
  .meta({ id: "ErrorDetail", description: "One of several problems of a request." });

const details = z
  .array(errorDetail)
  .optional()
  .meta({ description: "Every problem that was found in the request, at most 20." });

/** The error of an entry. */
export const entryError = z
  .object({ code: errorCode, message, param: param.optional(), details })
  .meta({ description: "What went wrong." });

export const errorResponse = z
  .object({
    error: z
      .object({
        code: errorCode,
        message,
        retry_after: z
          .int()
          .optional()
          .meta({
            description: "Whole seconds to wait before a retry; only with `rate_limited`.",
            examples: [42],
          }),
        param: param.optional(),
        details,
        doc_url: z
          .string()
          .optional()
          .meta({
            description: "A page that explains the code; not with `not_found`.",
            examples: ["https://api.example.com/docs/errors#invalid_request"],
          }),
      })
      .meta({ description: "What went wrong." }),
  })
  .meta({ id: "ApiError", description: "The body of every error." });
