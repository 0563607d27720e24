/**
 * The files of a journal: one a page, named for the page. `.open` is being written, `.page` is
 * sealed: its name, bytes and so its id never change again, which is what lets every later stage
 * recognise a repeat.
 */
import { readdirSync, readFileSync, renameSync, truncateSync, unlinkSync } from "node:fs";
import { join } from "node:path";

import { type PageId, scanPage } from "../../shared/contracts/click-page.ts";

const FILE_FORM = /^(?<journalId>[0-9a-f-]{36})-(?<page>\d{10})\.(?<state>open|page)$/;

export type SealedPage = PageId & { path: string; bytes: number; clicks: number };

/** Path of a page's file. Page numbers have a fixed width, so names sort in order. */
export const pagePath = (
  dir: string,
  { journalId, page }: PageId,
  state: "open" | "page",
): string => join(dir, `${journalId}-${String(page).padStart(10, "0")}.${state}`);

/**
 * Takes over the pages that an earlier process left: seals those it was still writing at the end of
 * their last whole click, and gives all in order. Files that are no pages are left alone and named.
 */
export function adoptPages(dir: string): { pages: SealedPage[]; foreign: string[] } {
  const pages: SealedPage[] = [];
  const foreign: string[] = [];
  for (const name of readdirSync(dir).toSorted()) {
    const form = FILE_FORM.exec(name)?.groups;
    if (form === undefined) continue;
    const path = join(dir, name);
    const bytes = readFileSync(path);
    const scan = scanPage(bytes);
    if (bytes.length === 0) {
      // Emptied to be used again.
      unlinkSync(path);
    } else if (
      scan === undefined ||
      scan.journalId !== form["journalId"] ||
      scan.page !== Number(form["page"])
    ) {
      foreign.push(name);
    } else if (scan.count === 0) {
      unlinkSync(path);
    } else if (form["state"] === "open") {
      truncateSync(path, scan.end);
      const sealed = pagePath(dir, scan, "page");
      renameSync(path, sealed);
      pages.push({ ...scan, path: sealed, bytes: scan.end, clicks: scan.count });
    } else {
      pages.push({ ...scan, path, bytes: scan.end, clicks: scan.count });
    }
  }
  return { pages, foreign };
}
