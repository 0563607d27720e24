/** S3-compatible stores. */
import { S3Client } from "bun";
import * as z from "zod";

import { envUrl } from "./env.ts";

/** Variables of what reads or writes such a store. */
export const s3Variables = {
  S3_ENDPOINT: envUrl(["http", "https"]).optional(),
  S3_REGION: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
};

export type S3Settings = z.output<z.ZodObject<typeof s3Variables>>;

export type Bucket = {
  client: S3Client;
  /** Empty, or ends with a slash. */
  prefix: string;
};

/** Returns the bucket of a URL, `s3://bucket/prefix`. */
export function bucketOf(
  { hostname: bucket, pathname }: URL,
  { S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: S3Settings,
): Bucket {
  const client = new S3Client({
    bucket,
    ...(S3_ENDPOINT === undefined ? {} : { endpoint: S3_ENDPOINT }),
    ...(S3_REGION === undefined ? {} : { region: S3_REGION }),
    ...(S3_ACCESS_KEY_ID === undefined ? {} : { accessKeyId: S3_ACCESS_KEY_ID }),
    ...(S3_SECRET_ACCESS_KEY === undefined ? {} : { secretAccessKey: S3_SECRET_ACCESS_KEY }),
  });
  const folders = pathname.split("/").filter((name) => name !== "");
  return { client, prefix: folders.map((name) => `${name}/`).join("") };
}
