/** Downloads the data of a card as CSV. */
import { Download } from "lucide-react";

import { getErrorMessage } from "../../data/errors.ts";
import { downloadCsv } from "../../data/http.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";

type CsvButtonProps = {
  path: string;
  /** What the file has, for its button. */
  name: string;
  /** The file's name, without its ending. */
  file: string;
};

export function CsvButton({ path, name, file }: CsvButtonProps) {
  return (
    <IconButton
      label={t("analytics.downloadCsv", { name })}
      onClick={() =>
        void downloadCsv(path, `${file}.csv`).catch((error: unknown) =>
          toast(getErrorMessage(error), "error"),
        )
      }
    >
      <Download aria-hidden />
    </IconButton>
  );
}
