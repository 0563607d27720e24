/** Text that people type. */
import * as z from "zod";

/** Text of one line: control characters are refused. */
export const plainText = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .refine((text) => !/\p{Cc}/u.test(text), "must not hold control characters");
