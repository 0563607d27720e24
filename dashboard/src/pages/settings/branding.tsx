/** Sets the name, the colour and the logo that pages of shared statistics show. */
import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { toBrandColors } from "../../../../shared/contracts/colors.ts";
import { hexColor } from "../../../../shared/contracts/qr-style.ts";
import { brandName, LOGO_BYTES_MAX } from "../../../../shared/contracts/share-schemas.ts";
import { useApiQuery, useClient } from "../../data/session.ts";
import { validateWith } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ColorField, Form, isColor, TextField } from "../../ui/field.tsx";
import { type FieldErrors, formField, useFormAction } from "../../ui/form.ts";
import { Card, Page } from "../../ui/page.tsx";
import { QueryBoundary } from "../../ui/states.tsx";

type Branding = ResponseBody<"getBranding">;

/** The values of the form; the logo is a `data:` URL. */
type Values = { name: string; color: string; logo: string | null };

export function BrandingPage() {
  const branding = useApiQuery(["branding"], (client) => client.branding.get());
  return (
    <Page title={t("shell.pages.branding")} intro={t("settings.branding.intro")}>
      <QueryBoundary query={branding} label={t("shell.pages.branding")}>
        {(data) => <BrandingForm key={JSON.stringify(data)} saved={data} />}
      </QueryBoundary>
    </Page>
  );
}

function BrandingForm({ saved }: { saved: Branding }) {
  const client = useClient();
  const { form, props } = useFormAction<Values, Branding>(
    { name: saved.name ?? "", color: saved.color ?? "", logo: saved.logo },
    (values) => client.branding.update(toChange(values, saved)),
    { invalidate: ["branding"], successMessage: t("settings.branding.saved") },
    findErrors,
  );
  const values = form.watch();
  const set = (name: "color" | "logo", value: string | null) =>
    form.setValue(name, value, { shouldValidate: true });
  return (
    <Card>
      <Form action={t("ui.save")} {...props}>
        <div className="columns">
          <TextField label={t("fields.name")} {...formField(form, "name")} />
          <ColorField
            label={t("fields.color")}
            pickerLabel={t("settings.branding.chooseColor")}
            placeholder="#1d4ed8"
            hint={t("settings.branding.colorHint")}
            fallback="#4f46e5"
            value={values.color}
            error={formField(form, "color").error}
            onChange={(color) => set("color", color)}
          />
        </div>
        <LogoField
          logo={values.logo}
          error={formField(form, "logo").error}
          onChange={(logo) => set("logo", logo)}
          onProblem={(message) => form.setError("logo", { message })}
        />
        <Preview values={values} />
      </Form>
    </Card>
  );
}

/** The fields that differ from what is saved; an empty one is removed. */
function toChange({ name, color, logo }: Values, saved: Branding) {
  const isNewLogo = logo !== saved.logo;
  return {
    name: name.trim() === "" ? null : name.trim(),
    color: color === "" ? null : color,
    // The API takes the content of a `data:` URL.
    ...(isNewLogo ? { logo: logo === null ? null : logo.slice(logo.indexOf(",") + 1) } : {}),
  };
}

function findErrors({ name, color }: Values): FieldErrors<Values> {
  const checks = {
    name: name.trim() === "" || validateWith(brandName)(name.trim()),
    color: color === "" || validateWith(hexColor)(color),
  };
  return Object.fromEntries(Object.entries(checks).filter(([, result]) => result !== true));
}

const LOGO_TYPES = ["image/png", "image/jpeg", "image/webp"];

type LogoFieldProps = {
  logo: string | null;
  error: string | undefined;
  onChange: (logo: string | null) => void;
  onProblem: (message: string) => void;
};

function LogoField({ logo, error, onChange, onProblem }: LogoFieldProps) {
  function choose(file: File | undefined): void {
    if (file === undefined) return;
    // A dialog for files can show all of them.
    if (!LOGO_TYPES.includes(file.type)) onProblem(t("settings.branding.wrongType"));
    else if (file.size > LOGO_BYTES_MAX)
      onProblem(t("settings.branding.tooLarge", { max: LOGO_BYTES_MAX / 1024 }));
    else readDataUrl(file).then(onChange, () => onProblem(t("import.file.unreadable")));
  }
  return (
    <div className="logo-field">
      <TextField
        label={t("fields.logo")}
        type="file"
        accept={LOGO_TYPES.join(",")}
        hint={t("settings.branding.logoHint")}
        error={error}
        onChange={({ target }) => choose(target.files?.[0])}
      />
      {logo !== null && (
        <Button onClick={() => onChange(null)}>{t("settings.branding.removeLogo")}</Button>
      )}
    </div>
  );
}

const readDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () =>
      // As text, because it is read as a URL.
      resolve(typeof reader.result === "string" ? reader.result : ""),
    );
    reader.addEventListener("error", () => reject(reader.error ?? new Error("Not readable")));
    reader.readAsDataURL(file);
  });

/** The head of a shared page, on a light and on a dark background. */
function Preview({ values: { name, color, logo } }: { values: Values }) {
  const colors = isColor(color) ? toBrandColors(color) : undefined;
  return (
    <div className="columns" role="group" aria-label={t("fields.preview")}>
      {(["light", "dark"] as const).map((scheme) => (
        <div
          key={scheme}
          className="brand-preview"
          data-scheme={scheme}
          style={{ colorScheme: scheme, ...toProperty(colors?.[scheme]) }}
        >
          {logo !== null && <img src={logo} alt="" />}
          {name.trim() !== "" && <strong>{name}</strong>}
          <span className="brand-preview-bar" />
          <span className="brand-preview-text">
            {scheme === "light" ? t("settings.branding.onLight") : t("settings.branding.onDark")}
            {colors !== undefined && `: ${colors[scheme]}`}
          </span>
        </div>
      ))}
    </div>
  );
}

const toProperty = (color: string | undefined) =>
  color === undefined ? {} : { "--accent": color, "--accent-text": color };
