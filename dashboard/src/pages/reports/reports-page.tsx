/** Reports of the account and mode: creates, changes, sends, pauses and deletes them. */
import { useQuery } from "@tanstack/react-query";
import { History, Pause, Pencil, Play, Plus, Send, Trash2 } from "lucide-react";
import { useForm } from "react-hook-form";

import type { Report, ReportRun } from "../../../../clients/typescript/src/index.ts";
import { languageName } from "../../../../shared/contracts/languages.ts";
import { tag as tagSchema } from "../../../../shared/contracts/link-schemas.ts";
import {
  DEFAULT_HOUR,
  REPORT_LANGUAGES,
  REPORT_PERIODS,
  reportName,
} from "../../../../shared/contracts/report-schemas.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext, useSession } from "../../data/session.ts";
import { getLanguage, rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, FormDialog, useDialog } from "../../ui/dialog.tsx";
import { formField, SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { getLocalZone, listTimeZones } from "../../ui/local-time.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { ErrorAlert, QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";
import { RunsDialog } from "./runs-dialog.tsx";

export function ReportsPage() {
  const { scope, account } = useAccountContext();
  const { open, dialog } = useDialog();
  const canChange = account.role !== "viewer";
  const reports = useQuery({
    queryKey: ["reports", scope],
    queryFn: () => Array.fromAsync(getClient(scope).reports.all()),
  });
  const session = useSession();
  return (
    <Page
      title={t("shell.pages.reports")}
      intro={t("reports.intro")}
      actions={
        canChange && (
          <Button
            variant="primary"
            onClick={() => open((close) => <ReportDialog report={undefined} onClose={close} />)}
          >
            <Plus aria-hidden /> {t("reports.new")}
          </Button>
        )
      }
    >
      {session.data?.sends_mails === false && <p className="hint">{t("reports.noMails")}</p>}
      <Card>
        <QueryList
          query={reports}
          label={t("shell.pages.reports")}
          empty={{ title: t("reports.empty"), hint: t("reports.emptyHint") }}
        >
          {(rows) => <ReportTable reports={rows} canChange={canChange} />}
        </QueryList>
      </Card>
      {dialog}
    </Page>
  );
}

type ReportTableProps = { reports: readonly Report[]; canChange: boolean };

const ReportTable = ({ reports, canChange }: ReportTableProps) => (
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
            <div className="hint">{tag ?? short_url ?? t("reports.everything")}</div>
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
              <div className="hint">{t("reports.next", { time: formatDateTime(next_run_at) })}</div>
            )}
          </>
        ),
      },
      {
        name: t("reports.statusHead"),
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
    actions={(report) => <ReportActions report={report} canChange={canChange} />}
  />
);

type ReportActionsProps = { report: Report; canChange: boolean };

function ReportActions({ report, canChange }: ReportActionsProps) {
  const { open, dialog } = useDialog();
  const { scope } = useAccountContext();
  const { id } = report;
  const isActive = report.status === "active";
  const change = useApiMutation(
    () => getClient(scope).reports.update(id, { status: isActive ? "paused" : "active" }),
    { invalidate: [["reports", scope]] },
  );
  const send = useApiMutation(() => getClient(scope).reports.send(id), {
    invalidate: [["report-runs", scope, id]],
    onSuccess: (first) => openRuns(first),
  });
  const openRuns = (first?: ReportRun) =>
    open((close) => <RunsDialog report={report} first={first} onClose={close} />);
  const runs = {
    label: t("reports.runs"),
    icon: <History aria-hidden />,
    onSelect: () => openRuns(),
  };
  return (
    <>
      <ErrorAlert error={change.error ?? send.error} />
      <ActionMenu
        label={t("reports.actions", { name: report.name })}
        actions={
          canChange
            ? [
                {
                  label: t("reports.send"),
                  icon: <Send aria-hidden />,
                  onSelect: () => send.mutate(),
                },
                runs,
                {
                  label: t("reports.edit"),
                  icon: <Pencil aria-hidden />,
                  onSelect: () => open((close) => <ReportDialog report={report} onClose={close} />),
                },
                {
                  label: isActive ? t("reports.pause") : t("reports.resume"),
                  icon: isActive ? <Pause aria-hidden /> : <Play aria-hidden />,
                  onSelect: () => change.mutate(),
                },
                {
                  label: t("reports.delete"),
                  icon: <Trash2 aria-hidden />,
                  danger: true,
                  onSelect: () => open((close) => <DeleteDialog report={report} onClose={close} />),
                },
              ]
            : [runs]
        }
      />
      {dialog}
    </>
  );
}

function DeleteDialog({ report, onClose }: { report: Report; onClose: () => void }) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).reports.delete(report.id), {
    invalidate: [["reports", scope]],
    successMessage: t("reports.deleted"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("reports.deleteTitle")}
      action={t("reports.delete")}
      onClose={onClose}
      task={remove}
    >
      <p>{rich("reports.deleteText", { name: report.name, strong })}</p>
    </ConfirmDialog>
  );
}

/** `tag` and `link` are empty for the whole account; `emails` is separated by spaces or commas. */
type Values = {
  name: string;
  tag: string;
  link: string;
  period: Report["period"];
  hour: string;
  zone: string;
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
  link: "",
  period: "weekly",
  hour: String(DEFAULT_HOUR),
  zone: getLocalZone(),
  language: REPORT_LANGUAGES.find((language) => language === getLanguage()) ?? "en",
  emails: "",
});

const valuesOf = (report: Report): Values => ({
  name: report.name,
  tag: report.tag ?? "",
  link: report.short_url ?? "",
  period: report.period,
  hour: String(report.hour),
  zone: report.timezone,
  language: report.language,
  emails: report.emails.join(", "),
});

const toBody = ({ name, tag, link, period, hour, zone, language, emails }: Values) => ({
  name: name.trim(),
  tag: tag.trim() === "" ? null : tag.trim(),
  short_url: link.trim() === "" ? null : link.trim(),
  period,
  hour: Number(hour),
  timezone: zone,
  language,
  emails: emails.split(/[\s,]+/).filter((email) => email !== ""),
});

type ReportDialogProps = {
  /** Undefined for a new one. */
  report: Report | undefined;
  onClose: () => void;
};

function ReportDialog({ report, onClose }: ReportDialogProps) {
  const { scope } = useAccountContext();
  const sendsMails = useSession().data?.sends_mails === true;
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: report === undefined ? newValues() : valuesOf(report),
  });
  const save = useApiMutation(
    (values: Values) => {
      const { reports } = getClient(scope);
      const body = toBody(values);
      return report === undefined ? reports.create(body) : reports.update(report.id, body);
    },
    { invalidate: [["reports", scope]], successMessage: t("reports.saved"), onSuccess: onClose },
  );
  return (
    <FormDialog
      title={report === undefined ? t("reports.new") : t("reports.edit")}
      action={report === undefined ? t("reports.create") : t("reports.save")}
      onSubmit={form.handleSubmit((values) => save.mutate(values))}
      onClose={onClose}
      task={save}
    >
      <TextField
        label={t("reports.name")}
        {...formField(form, "name", {
          required: t("ui.required"),
          validate: validateWith(reportName),
        })}
      />
      <TextField
        label={t("reports.tag")}
        hint={t("reports.tagHint")}
        {...formField(form, "tag", {
          validate: (text) => text === "" || validateWith(tagSchema)(text),
        })}
      />
      <TextField
        label={t("reports.link")}
        hint={t("reports.linkHint")}
        {...form.register("link")}
      />
      <SelectField
        label={t("reports.period")}
        options={REPORT_PERIODS.map((value) => ({ value, label: t(`reports.periods.${value}`) }))}
        {...form.register("period")}
      />
      <SelectField label={t("reports.hour")} options={HOURS} {...form.register("hour")} />
      <SelectField
        label={t("reports.timeZone")}
        options={listTimeZones(form.getValues("zone")).map((zone) => ({
          value: zone,
          label: zone,
        }))}
        {...form.register("zone")}
      />
      <SelectField
        label={t("reports.language")}
        options={languages}
        {...form.register("language")}
      />
      <TextField
        label={t("reports.emails")}
        hint={t(sendsMails ? "reports.emailsHint" : "reports.noMails")}
        disabled={!sendsMails && report?.emails.length !== 0}
        {...form.register("emails")}
      />
    </FormDialog>
  );
}
