/** Reports of the account and mode: creates, changes, sends, pauses and deletes them. */
import { useQuery } from "@tanstack/react-query";
import { History, Pause, Pencil, Play, Plus, Send, Trash2 } from "lucide-react";
import { useState } from "react";
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
import { getErrorMessage } from "../../languages/errors.ts";
import { getLanguage, rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { actionsColumn, Table } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";
import { RunsDialog } from "./runs-dialog.tsx";

/** The open dialog, with its report. */
type OpenDialog =
  | { kind: "create" }
  | { kind: "edit" | "delete"; report: Report }
  | { kind: "runs"; report: Report; first?: ReportRun };

export function ReportsPage() {
  const { scope, account } = useAccountContext();
  const [dialog, setDialog] = useState<OpenDialog>();
  const canChange = account.role !== "viewer";
  const reports = useQuery({
    queryKey: ["reports", scope],
    queryFn: () => Array.fromAsync(getClient(scope).reports.all()),
  });
  const close = () => setDialog(undefined);
  const session = useSession();
  return (
    <Page
      title={t("shell.pages.reports")}
      intro={t("reports.intro")}
      actions={
        canChange && (
          <Button variant="primary" onClick={() => setDialog({ kind: "create" })}>
            <Plus aria-hidden /> {t("reports.new")}
          </Button>
        )
      }
    >
      {session.data?.sends_mails === false && <p className="hint">{t("reports.noMails")}</p>}
      <Card>
        <QueryBoundary query={reports} label={t("shell.pages.reports")}>
          {(data) =>
            data.length === 0 ? (
              <Empty title={t("reports.empty")}>
                <p>{t("reports.emptyHint")}</p>
              </Empty>
            ) : (
              <ReportTable reports={data} canChange={canChange} onOpen={setDialog} />
            )
          }
        </QueryBoundary>
      </Card>
      {dialog?.kind === "create" && <ReportDialog report={undefined} onClose={close} />}
      {dialog?.kind === "edit" && <ReportDialog report={dialog.report} onClose={close} />}
      {dialog?.kind === "runs" && (
        <RunsDialog report={dialog.report} first={dialog.first} onClose={close} />
      )}
      {dialog?.kind === "delete" && <DeleteDialog report={dialog.report} onClose={close} />}
    </Page>
  );
}

type ReportTableProps = {
  reports: readonly Report[];
  canChange: boolean;
  onOpen: (dialog: OpenDialog) => void;
};

const ReportTable = ({ reports, canChange, onOpen }: ReportTableProps) => (
  <Table
    className="stacked"
    label={t("shell.pages.reports")}
    head={[t("reports.name"), t("reports.schedule"), t("reports.statusHead"), actionsColumn()]}
  >
    {reports.map((report) => (
      <tr key={report.id}>
        <td>
          {report.name}
          <div className="hint">{report.tag ?? report.short_url ?? t("reports.everything")}</div>
        </td>
        <td data-label={t("reports.schedule")}>
          {t(`reports.periods.${report.period}`)}
          {report.next_run_at !== null && (
            <div className="hint">
              {t("reports.next", { time: formatDateTime(report.next_run_at) })}
            </div>
          )}
        </td>
        <td data-label={t("reports.statusHead")}>
          <span className={report.status === "active" ? "badge badge-good" : "badge badge-bad"}>
            {t(`reports.status.${report.status}`)}
          </span>
          <div className="hint">{report.emails.join(", ")}</div>
        </td>
        <td className="row-actions">
          <ReportActions report={report} canChange={canChange} onOpen={onOpen} />
        </td>
      </tr>
    ))}
  </Table>
);

function ReportActions({
  report,
  canChange,
  onOpen,
}: Pick<ReportTableProps, "canChange" | "onOpen"> & { report: Report }) {
  const { scope } = useAccountContext();
  const { id } = report;
  const isActive = report.status === "active";
  const change = useApiMutation(
    () => getClient(scope).reports.update(id, { status: isActive ? "paused" : "active" }),
    { invalidate: [["reports", scope]] },
  );
  const send = useApiMutation(() => getClient(scope).reports.send(id), {
    invalidate: [["report-runs", scope, id]],
    onSuccess: (first) => onOpen({ kind: "runs", report, first }),
  });
  const problem = change.error ?? send.error;
  const open = (kind: "edit" | "runs" | "delete") => () => onOpen({ kind, report });
  const runs = { label: t("reports.runs"), icon: <History aria-hidden />, onSelect: open("runs") };
  return (
    <>
      {problem !== null && <Alert>{getErrorMessage(problem)}</Alert>}
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
                { label: t("reports.edit"), icon: <Pencil aria-hidden />, onSelect: open("edit") },
                {
                  label: isActive ? t("reports.pause") : t("reports.resume"),
                  icon: isActive ? <Pause aria-hidden /> : <Play aria-hidden />,
                  onSelect: () => change.mutate(),
                },
                {
                  label: t("reports.delete"),
                  icon: <Trash2 aria-hidden />,
                  danger: true,
                  onSelect: open("delete"),
                },
              ]
            : [runs]
        }
      />
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
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
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
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
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
  const { register, formState } = form;
  const { errors } = formState;
  const save = useApiMutation(
    (values: Values) => {
      const { reports } = getClient(scope);
      const body = toBody(values);
      return report === undefined ? reports.create(body) : reports.update(report.id, body);
    },
    { invalidate: [["reports", scope]], successMessage: t("reports.saved"), onSuccess: onClose },
  );
  return (
    <Dialog title={report === undefined ? t("reports.new") : t("reports.edit")} onClose={onClose}>
      <DialogForm
        action={report === undefined ? t("reports.create") : t("reports.save")}
        onSubmit={(event) => void form.handleSubmit((values) => save.mutate(values))(event)}
        onCancel={onClose}
        loading={save.isPending}
        error={save.error}
      >
        <TextField
          label={t("reports.name")}
          error={errors.name?.message}
          {...register("name", { required: t("ui.required"), validate: validateWith(reportName) })}
        />
        <TextField
          label={t("reports.tag")}
          hint={t("reports.tagHint")}
          error={errors.tag?.message}
          {...register("tag", {
            validate: (text) => text === "" || validateWith(tagSchema)(text),
          })}
        />
        <TextField label={t("reports.link")} hint={t("reports.linkHint")} {...register("link")} />
        <SelectField
          label={t("reports.period")}
          options={REPORT_PERIODS.map((value) => ({ value, label: t(`reports.periods.${value}`) }))}
          {...register("period")}
        />
        <SelectField label={t("reports.hour")} options={HOURS} {...register("hour")} />
        <SelectField
          label={t("reports.timeZone")}
          options={listZones(form.getValues("zone")).map((zone) => ({ value: zone, label: zone }))}
          {...register("zone")}
        />
        <SelectField label={t("reports.language")} options={languages} {...register("language")} />
        <TextField
          label={t("reports.emails")}
          hint={t(sendsMails ? "reports.emailsHint" : "reports.noMails")}
          disabled={!sendsMails && report?.emails.length !== 0}
          {...register("emails")}
        />
      </DialogForm>
    </Dialog>
  );
}

const listZones = (chosen: string): string[] => [
  ...new Set(["UTC", chosen, ...Intl.supportedValuesOf("timeZone")]),
];
