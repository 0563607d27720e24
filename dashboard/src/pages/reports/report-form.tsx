/** The form that creates a report, and changes one. */
import { useForm } from "react-hook-form";

import type { Report } from "../../../../clients/typescript/src/index.ts";
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
import { getLanguage, t } from "../../languages/translate.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { validateWith } from "../../ui/validation.ts";

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

export function ReportDialog({ report, onClose }: ReportDialogProps) {
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
