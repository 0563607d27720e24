/** Downloads the data of a card as CSV. */
import { Download } from "lucide-react";

import { getErrorMessage } from "../../data/errors.ts";
import { downloadCsv } from "../../data/http.ts";
import { IconButton } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";

export function CsvButton({ path, name }: { path: string; name: string }) {
  return (
    <IconButton
      label={`Download ${name} as CSV`}
      onClick={() =>
        void downloadCsv(path, `${name}.csv`).catch((error: unknown) =>
          toast(getErrorMessage(error), "error"),
        )
      }
    >
      <Download aria-hidden />
    </IconButton>
  );
}
