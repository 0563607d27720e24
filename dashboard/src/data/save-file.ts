/** Saves content as a file through the browser's download. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Excel reads a file that begins with it as UTF-8, and others in Windows' code page. */
const BYTE_ORDER_MARK = "\ufeff";

/** Saves CSV as a file for spreadsheets. */
export const saveCsvFile = (csv: string, name: string): void =>
  saveFile(new Blob([BYTE_ORDER_MARK, csv], { type: "text/csv" }), name);
