/** Reports of the account and mode: creates, changes, sends, pauses and deletes them. */
import { Download, History, Pause, Pencil, Play, Plus, Send, Trash2 } from "lucide-react";
import { Fragment, useState } from "react";

import type { Report, ReportRun } from "../../../../clients/typescript/src/index.ts";
import { languageName } from "../../../../shared/contracts/languages.ts";
import { tag as tagSchema } from "../../../../shared/contracts/link-schemas.ts";
import {
  DEFAULT_HOUR,
  REPORT_LANGUAGES,
  REPORT_PERIODS,
  reportName,
} from "../../../../shared/contracts/report-schemas.ts";
import { readWords } from "../../data/complete-list.ts";
import { useAccountContext, useApiQuery, useCanWrite, useClient } from "../../data/session.ts";
import { getLanguage, rich, strong, t } from "../../languages/translate.ts";
import { Button, useDialog } from "../../ui/button.tsx";
import { ActionDialog, Dialog, FormDialog } from "../../ui/dialog.tsx";
import { ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formField, optionalBy, useFormAction } from "../../ui/form.ts";
import { formatCount, formatDate, formatDateTime } from "../../ui/format.ts";
import { getLocalZone, listTimeZones } from "../../ui/local-time.ts";
import { type Action, ActionMenu } from "../../ui/menu.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { QueryList, useApiMutation } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";

export function ReportsPage() {
  const { session } = useAccountContext();
  const canWrite = useCanWrite();
  const reports = useApiQuery(["reports"], (client) => Array.fromAsync(client.reports.all()));
  return (
    <Page
      title={t("shell.pages.reports")}
      intro={t("reports.intro")}
      actions={
        canWrite && (
          <Button
            variant="primary"
            opens={(close) => <ReportDialog report={undefined} onClose={close} />}
          >
            <Plus aria-hidden /> {t("reports.new")}
          </Button>
        )
      }
    >
      {!session.sends_mails && <p className="hint">{t("reports.noMails")}</p>}
      <Card>
        <QueryList
          query={reports}
          label={t("shell.pages.reports")}
          empty={{ title: t("reports.empty"), hint: t("reports.emptyHint") }}
        >
          {(rows) => <ReportTable reports={rows} />}
        </QueryList>
      </Card>
    </Page>
  );
}

const ReportTable = ({ reports }: { reports: readonly Report[] }) => (
  <RowTable
    label={t("shell.pages.reports")}
    rows={reports}
    keyOf={({ id }) => id}
    columns={[
      {
        name: t("reports.name"),
        cell: ({ name, tag, short_url }) => (
          <>
            {name}
            <div className="hint">{tag ?? short_url ?? t("links.status.any")}</div>
          </>
        ),
      },
      {
        name: t("reports.schedule"),
        isNamed: true,
        cell: ({ period, next_run_at }) => (
          <>
            {t(`reports.periods.${period}`)}
            {next_run_at !== null && (
              <div className="hint">
                {t("webhooks.nextAttempt", { time: formatDateTime(next_run_at) })}
              </div>
            )}
          </>
        ),
      },
      {
        name: t("fields.status"),
        isNamed: true,
        cell: ({ status, emails }) => (
          <>
            <span className={status === "active" ? "badge badge-good" : "badge badge-bad"}>
              {t(`reports.status.${status}`)}
            </span>
            <div className="hint">{emails.join(", ")}</div>
          </>
        ),
      },
    ]}
    actions={(report) => <ReportActions report={report} />}
  />
);

function ReportActions({ report }: { report: Report }) {
  const { id } = report;
  const { open, dialog } = useDialog();
  const canWrite = useCanWrite();
  const client = useClient();
  const isActive = report.status === "active";
  const change = useApiMutation(
    () => client.reports.update(id, { status: isActive ? "paused" : "active" }),
    { invalidate: ["reports"] },
  );
  const openRuns = (first?: ReportRun) =>
    open((close) => <RunsDialog report={report} first={first} onClose={close} />);
  const send = useApiMutation(() => client.reports.send(id), {
    invalidate: ["report-runs"],
    onSuccess: openRuns,
  });
  const runs: Action = { label: "reports.runs", icon: History, onSelect: () => openRuns() };
  const actions: Action[] = [
    { label: "reports.send", icon: Send, onSelect: () => send.mutateAsync() },
    runs,
    {
      label: "reports.edit",
      icon: Pencil,
      opens: (close) => <ReportDialog report={report} onClose={close} />,
    },
    {
      label: isActive ? "ui.pause" : "ui.resume",
      icon: isActive ? Pause : Play,
      onSelect: () => change.mutateAsync(),
    },
    {
      label: "ui.delete",
      icon: Trash2,
      danger: true,
      opens: (close) => <DeleteDialog report={report} onClose={close} />,
    },
  ];
  return (
    <>
      <ActionMenu
        label={t("reports.actions", { name: report.name })}
        actions={canWrite ? actions : [runs]}
      />
      {dialog}
    </>
  );
}

const DeleteDialog = ({ report, onClose }: { report: Report; onClose: () => void }) => (
  <ActionDialog
    title={t("reports.deleteTitle")}
    action={t("ui.delete")}
    run={(client) => client.reports.delete(report.id)}
    invalidate={["reports"]}
    successMessage={t("reports.deleted")}
    onClose={onClose}
  >
    <p>{rich("reports.deleteText", { name: report.name, strong })}</p>
  </ActionDialog>
);

/**
 * `tag` and `short_url` are empty for the whole account; `emails` is a text of several.
 */
type Values = {
  name: string;
  tag: string;
  short_url: string;
  period: Report["period"];
  hour: string;
  timezone: string;
  language: Report["language"];
  emails: string;
};

const HOURS = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  label: `${String(hour).padStart(2, "0")}:10`,
}));

const languages = REPORT_LANGUAGES.map((value) => ({ value, label: languageName(value, value) }));

const newValues = (): Values => ({
  name: "",
  tag: "",
  short_url: "",
  period: "weekly",
  hour: String(DEFAULT_HOUR),
  timezone: getLocalZone(),
  language: REPORT_LANGUAGES.find((language) => language === getLanguage()) ?? "en",
  emails: "",
});

const valuesOf = (report: Report): Values => ({
  name: report.name,
  tag: report.tag ?? "",
  short_url: report.short_url ?? "",
  period: report.period,
  hour: String(report.hour),
  timezone: report.timezone,
  language: report.language,
  emails: report.emails.join(", "),
});

const toBody = ({ name, tag, short_url, hour, emails, ...rest }: Values) => ({
  ...rest,
  name: name.trim(),
  tag: tag.trim() === "" ? null : tag.trim(),
  short_url: short_url.trim() === "" ? null : short_url.trim(),
  hour: Number(hour),
  emails: readWords(emails),
});

type ReportDialogProps = {
  report: Report | undefined;
  onClose: () => void;
};

function ReportDialog({ report, onClose }: ReportDialogProps) {
  const client = useClient();
  const { sends_mails } = useAccountContext().session;
  const { form, props } = useFormAction(
    report === undefined ? newValues() : valuesOf(report),
    (values) => {
      const body = toBody(values);
      return report === undefined
        ? client.reports.create(body)
        : client.reports.update(report.id, body);
    },
    { invalidate: ["reports"], successMessage: t("reports.saved"), onSuccess: onClose },
  );
  return (
    <FormDialog
      title={report === undefined ? t("reports.new") : t("reports.edit")}
      action={report === undefined ? t("reports.create") : t("ui.save")}
      onClose={onClose}
      {...props}
    >
      <TextField label={t("reports.name")} {...formField(form, "name", reportName)} />
      <TextField
        label={t("reports.tag")}
        hint={t("reports.tagHint")}
        {...formField(form, "tag", optionalBy(tagSchema))}
      />
      <TextField
        label={t("reports.link")}
        hint={t("reports.linkHint")}
        {...formField(form, "short_url")}
      />
      <SelectField
        label={t("fields.period")}
        options={REPORT_PERIODS.map((value) => ({ value, label: t(`reports.periods.${value}`) }))}
        {...formField(form, "period")}
      />
      <SelectField label={t("fields.hour")} options={HOURS} {...formField(form, "hour")} />
      <SelectField
        label={t("fields.timezone")}
        options={listTimeZones(form.getValues("timezone")).map((value) => ({
          value,
          label: value,
        }))}
        {...formField(form, "timezone")}
      />
      <SelectField
        label={t("fields.language")}
        options={languages}
        {...formField(form, "language")}
      />
      <ListField
        label={t("fields.emails")}
        hint={t(sends_mails ? "reports.emailsHint" : "reports.noMails")}
        disabled={!sends_mails && report?.emails.length !== 0}
        {...formField(form, "emails")}
      />
    </FormDialog>
  );
}

const OUTCOMES = ["waiting", "sent", "failed", "unknown"] as const;

type RunsDialogProps = {
  report: Report;
  /** The run that is read at first; undefined for the list. */
  first: ReportRun | undefined;
  onClose: () => void;
};

function RunsDialog({ report, first, onClose }: RunsDialogProps) {
  const [read, setRead] = useState(first);
  const runs = useApiQuery(
    ["report-runs", report.id],
    async (client) => (await client.reports.runs(report.id)).data,
  );
  if (read !== undefined) {
    return <RunDialog run={read} onBack={() => setRead(undefined)} onClose={onClose} />;
  }
  return (
    <Dialog title={t("reports.runsOf", { name: report.name })} onClose={onClose} wide>
      <QueryList query={runs} label={t("reports.runs")} empty={{ title: t("reports.noRuns") }}>
        {(rows) => <RunTable runs={rows} onRead={setRead} />}
      </QueryList>
    </Dialog>
  );
}

type RunTableProps = { runs: readonly ReportRun[]; onRead: (run: ReportRun) => void };

const RunTable = ({ runs, onRead }: RunTableProps) => (
  <RowTable
    label={t("reports.runs")}
    rows={runs}
    keyOf={({ event_id }) => event_id}
    columns={[
      { name: t("reports.days"), cell: formatDays },
      {
        name: t("reports.made"),
        cell: ({ created_at, requested }) => (
          <>
            {formatDateTime(created_at)}
            {requested && <div className="hint">{t("reports.requested")}</div>}
          </>
        ),
      },
      { name: t("statistics.clicks"), isNamed: true, cell: ({ clicks }) => formatCount(clicks) },
      { name: t("reports.mails"), isNamed: true, cell: describeMails },
    ]}
    actions={(run) => (
      <Button variant="quiet" onClick={() => onRead(run)}>
        {t("reports.read")}
      </Button>
    )}
  />
);

/** The days of the period, both included. */
const formatDays = ({ first_day, last_day }: ReportRun): string =>
  `${formatDate(first_day)} – ${formatDate(last_day)}`;

const describeMails = ({ mails }: ReportRun): string =>
  OUTCOMES.filter((outcome) => mails[outcome] > 0)
    .map((outcome) => t(`reports.outcome.${outcome}`, { count: mails[outcome] }))
    .join(", ") || "–";

type RunDialogProps = { run: ReportRun; onBack: () => void; onClose: () => void };

/** The content of a report, in the words of its mails. */
function RunDialog({ run, onBack, onClose }: RunDialogProps) {
  const { title, subject, totals, lists, note } = run.message;
  return (
    <Dialog title={title} onClose={onClose} wide>
      <div className="stack">
        <p>{subject}</p>
        <dl className="facts">
          {totals.map(({ label, text }) => (
            <Fragment key={label}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </Fragment>
          ))}
        </dl>
        {lists.map(({ title, rows }) => (
          <section key={title}>
            <h3>{title}</h3>
            <ol className="rows">
              {rows.map(({ name, number }, i) => (
                <li key={i}>
                  {name} <span className="number">{number}</span>
                </li>
              ))}
            </ol>
          </section>
        ))}
        <p className="hint">{note}</p>
      </div>
      <footer>
        <Button onClick={onBack}>{t("reports.runs")}</Button>
        <Button variant="primary" onClick={() => download(run)}>
          <Download aria-hidden /> {t("reports.download")}
        </Button>
      </footer>
    </Dialog>
  );
}

async function download({ message, last_day }: ReportRun): Promise<void> {
  const { saveCsv } = await import("../../data/csv.ts");
  saveCsv(toTable(message), `${last_day}.csv`);
}

/** A row for each total and for each entry of a list: what it is of, its name, and its number. */
export const toTable = ({ title, totals, lists }: ReportRun["message"]): string[][] => [
  [title, "", ""],
  ...totals.map(({ label, text }) => [label, "", text]),
  ...lists.flatMap(({ title: list, rows }) => rows.map(({ name, number }) => [list, name, number])),
];
