/** The links of a file that are not imported, with their reasons. */
import { Download } from "lucide-react";

import { saveCsvFile } from "../../../data/save-file.ts";
import { t } from "../../../languages/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { Table } from "../../../ui/table.tsx";
import type { FailedItem } from "./import-run.ts";
import type { ImportFile } from "./read-file.ts";
import { printReport } from "./report.ts";

/** Maximum links displayed; the CSV file has all. */
const FAILED_MAX = 100;

export function FailedTable({ file, failed }: { file: ImportFile; failed: readonly FailedItem[] }) {
  function download(): void {
    saveCsvFile(printReport(file, failed), "not-imported.csv");
  }
  return (
    <>
      <Table
        label={t("import.run.failedTable")}
        head={[
          t("import.heads.row"),
          t("import.heads.alias"),
          t("import.heads.reason"),
          t("import.heads.destination"),
        ]}
        className="stacked"
        tall
      >
        {failed.slice(0, FAILED_MAX).map(({ row, link, problem }, i) => (
          <tr key={i}>
            <td data-label={t("import.heads.row")}>{row}</td>
            <td>{link.alias}</td>
            <td>{problem.message}</td>
            <td>
              <span className="destination">{link.url}</span>
            </td>
          </tr>
        ))}
      </Table>
      {failed.length > FAILED_MAX && (
        <p className="hint">{t("import.run.firstFailed", { max: FAILED_MAX })}</p>
      )}
      <div>
        <Button onClick={download}>
          <Download aria-hidden /> {t("import.run.download")}
        </Button>
      </div>
    </>
  );
}
