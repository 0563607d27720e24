/** Importing links from a CSV file: what it holds is shown, made a hundred at a time, and reported on. */
import { useQueryClient } from "@tanstack/react-query";
import { Download, FileUp } from "lucide-react";
import Papa from "papaparse";
import { useRef, useState } from "react";
import { Link as PageLink } from "wouter";

import { messageOf } from "../../data/errors.ts";
import { clientOf, type Place, saveFile } from "../../data/http.ts";
import { useHere, useMayWrite } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { count, counted } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, Problem } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { type ImportPlan, type ImportRow, planImport } from "./import-formats.ts";

/** What one request takes. */
const TOGETHER = 100;
const FILE_BYTES_MAX = 50 * 1024 * 1024;
const REJECTED_SHOWN = 100;
const PREVIEWED = 5;

type Rejected = { row: number; url: string; alias: string; reason: string };

type Progress = { done: number; created: number; rejected: Rejected[]; ended: boolean };

export function ImportPage() {
  const mayWrite = useMayWrite();
  const { place } = useHere();
  const queryClient = useQueryClient();
  const [plan, setPlan] = useState<ImportPlan>();
  const [problem, setProblem] = useState<string>();
  const [progress, setProgress] = useState<Progress>();
  const stopped = useRef(false);

  async function choose(file: File | undefined): Promise<void> {
    setPlan(undefined);
    setProgress(undefined);
    if (file === undefined) return;
    const read = await readFile(file);
    if (typeof read === "string") setProblem(read);
    else {
      setProblem(undefined);
      setPlan(read);
    }
  }

  async function run(rows: readonly ImportRow[]): Promise<void> {
    stopped.current = false;
    await importRows(place, rows, setProgress, () => stopped.current);
    await queryClient.invalidateQueries({ queryKey: ["links", place] });
  }

  if (!mayWrite) return <Empty title="Your role does not allow changes" />;
  return (
    <Page
      title="Import links"
      intro="From a CSV file with a heading: an export of Bitly, Kutt, YOURLS, Shlink or Shorthop, or any with a column of destinations."
      actions={
        <PageLink href="/links" className="button button-plain">
          Back to links
        </PageLink>
      }
    >
      <Card>
        <label className="drop">
          <FileUp aria-hidden />
          <span>Choose a CSV file</span>
          <input
            type="file"
            accept=".csv,text/csv"
            disabled={progress !== undefined && !progress.ended}
            onChange={(event) => void choose(event.target.files?.[0])}
          />
        </label>
        {problem !== undefined && <Problem>{problem}</Problem>}
        {plan !== undefined && progress === undefined && (
          <Preview plan={plan} onStart={() => void run(plan.rows)} />
        )}
        {plan !== undefined && progress !== undefined && (
          <Report
            total={plan.rows.length}
            progress={progress}
            onStop={() => {
              stopped.current = true;
            }}
          />
        )}
      </Card>
    </Page>
  );
}

/** What a file would import, or why it cannot be. */
async function readFile(file: File): Promise<ImportPlan | string> {
  if (file.size > FILE_BYTES_MAX) return "The file is larger than 50 MB. Split it.";
  const { data, meta } = Papa.parse<Record<string, string>>(await file.text(), {
    header: true,
    skipEmptyLines: "greedy",
  });
  const plan = planImport(meta.fields ?? [], data);
  if (plan === undefined)
    return "No column of the file holds destinations, such as url or long_url.";
  if (plan.rows.length === 0) return "The file holds no links.";
  return plan;
}

/** Sends the rows a hundred at a time; a request that fails as a whole rejects its rows. */
async function importRows(
  place: Place,
  rows: readonly ImportRow[],
  tell: (progress: Progress) => void,
  isStopped: () => boolean,
): Promise<void> {
  const { links } = clientOf(place);
  const progress: Progress = { done: 0, created: 0, rejected: [], ended: false };
  tell({ ...progress });
  for (let start = 0; start < rows.length && !isStopped(); start += TOGETHER) {
    const part = rows.slice(start, start + TOGETHER);
    try {
      const answer = await links.createMany(part.map(({ link }) => link));
      for (const entry of answer.data) {
        const row = part[entry.index];
        if ("error" in entry && row !== undefined) {
          progress.rejected.push(rejectedOf(row, entry.error.message));
        }
      }
      progress.created += answer.created;
    } catch (error) {
      // One bad row spoils a request's form as a whole: then each is sent alone.
      await importOneByOne(place, part, progress, error);
    }
    progress.done += part.length;
    tell({ ...progress });
  }
  tell({ ...progress, ended: true });
}

async function importOneByOne(
  place: Place,
  rows: readonly ImportRow[],
  progress: Progress,
  cause: unknown,
): Promise<void> {
  const { links } = clientOf(place);
  for (const row of rows) {
    try {
      if (rows.length === 1) throw cause;
      await links.create(row.link);
      progress.created++;
    } catch (error) {
      progress.rejected.push(rejectedOf(row, messageOf(error)));
    }
  }
}

const rejectedOf = ({ row, link }: ImportRow, reason: string): Rejected => ({
  row,
  url: link.url,
  alias: link.alias ?? "",
  reason,
});

function Preview({ plan, onStart }: { plan: ImportPlan; onStart: () => void }) {
  return (
    <div className="stack">
      <p>
        {plan.source === undefined ? "The file" : `An export of ${plan.source}. It`} holds{" "}
        {counted(plan.rows.length, "link")}. The first of them:
      </p>
      <Table label="Preview" head={["Alias", "Destination", "Title", "Tags"]}>
        {plan.rows.slice(0, PREVIEWED).map(({ row, link }) => (
          <tr key={row}>
            <td>{link.alias ?? <em>made</em>}</td>
            <td className="destination">{link.url}</td>
            <td>{link.title}</td>
            <td>{link.tags?.join(", ")}</td>
          </tr>
        ))}
      </Table>
      <div>
        <Button look="primary" onClick={onStart}>
          Import {counted(plan.rows.length, "link")}
        </Button>
      </div>
    </div>
  );
}

function Report({
  total,
  progress,
  onStop,
}: {
  total: number;
  progress: Progress;
  onStop: () => void;
}) {
  const { done, created, rejected, ended } = progress;
  return (
    <div className="stack">
      <label className="progress">
        {ended ? "Done" : "Importing"}: {count(done)} of {count(total)}
        <progress value={done} max={total} />
      </label>
      {!ended && (
        <div>
          <Button onClick={onStop}>Stop</Button>
        </div>
      )}
      <p role="status">
        {counted(created, "link")} made, {count(rejected.length)} rejected.
      </p>
      {rejected.length > 0 && ended && <RejectedRows rejected={rejected} />}
    </div>
  );
}

const RejectedRows = ({ rejected }: { rejected: readonly Rejected[] }) => (
  <>
    <Table label="Rejected rows" head={["Row", "Alias", "Destination", "Why"]}>
      {rejected.slice(0, REJECTED_SHOWN).map(({ row, alias, url, reason }) => (
        <tr key={row}>
          <td>{row}</td>
          <td>{alias}</td>
          <td className="destination">{url}</td>
          <td>{reason}</td>
        </tr>
      ))}
    </Table>
    <div>
      <Button
        onClick={() =>
          saveFile(
            new Blob([Papa.unparse([...rejected], { escapeFormulae: true })], { type: "text/csv" }),
            "rejected.csv",
          )
        }
      >
        <Download aria-hidden /> All rejected rows as CSV
      </Button>
    </div>
  </>
);
