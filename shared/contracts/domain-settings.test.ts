/** Goal: the document says how long a URL may be. */
import { expect, test } from "bun:test";

import * as z from "zod";

import { changeDomainBody, domainSettingsResponse } from "./domain-settings.ts";

test.each(["root_url", "not_found_url", "expired_url"] as const)(
  "%s has its greatest length in the schemas of requests and responses",
  (field) => {
    for (const schema of [changeDomainBody.shape[field], domainSettingsResponse[field]])
      expect(JSON.stringify(z.toJSONSchema(schema))).toContain('"maxLength":8192');
  },
);
