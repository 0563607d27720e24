/** Sets the name, the colour and the logo that pages of shared statistics show. */
import { useState } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { toBrandColors } from "../../../../shared/contracts/colors.ts";
import { hexColor } from "../../../../shared/contracts/qr-style.ts";
import { brandName, LOGO_BYTES_MAX } from "../../../../shared/contracts/share-schemas.ts";
import { useApiQuery, useClient } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ColorField, Form, isColor, TextField } from "../../ui/field.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";

type Branding = ResponseBody<"getBranding">;

/** The values of the form; the logo is a `data:` URL. */
type Values = { name: string; color: string; logo: string | null };

export function BrandingPage() {
  const branding = useApiQuery(["branding"], (client) => client.branding.get());
  return (
    <Page title={t("shell.pages.branding")} intro={t("settings.branding.intro")}>
      <QueryBoundary query={branding} label={t("settings.branding.loading")}>
        {(data) => <BrandingForm key={JSON.stringify(data)} saved={data} />}
      </QueryBoundary>
    </Page>
  );
}

function BrandingForm({ saved }: { saved: Branding }) {
  const client = useClient();
  const [values, setValues] = useState<Values>({
    name: saved.name ?? "",
    color: saved.color ?? "",
    logo: saved.logo,
  });
  const save = useApiMutation(() => client.branding.update(toChange(values, saved)), {
    invalidate: ["branding"],
    successMessage: t("settings.branding.saved"),
  });
  const change = (part: Partial<Values>) => {
    save.reset();
    setValues((before) => ({ ...before, ...part }));
  };
  const errors = findErrors(values);
  const isValid = errors.name === undefined && errors.color === undefined;
  return (
    <Card>
      <Form action={t("ui.save")} task={save} onSubmit={() => isValid && save.mutate()}>
        <div className="columns">
          <TextField
            label={t("fields.name")}
            value={values.name}
            error={errors.name}
            onChange={({ target }) => change({ name: target.value })}
          />
          <ColorField
            label={t("fields.color")}
            pickerLabel={t("settings.branding.chooseColor")}
            placeholder="#1d4ed8"
            hint={t("settings.branding.colorHint")}
            fallback="#4f46e5"
            value={values.color}
            error={errors.color}
            onChange={(color) => change({ color })}
          />
        </div>
        <LogoField logo={values.logo} onChange={(logo) => change({ logo })} />
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

function findErrors({ name, color }: Values): { name?: string; color?: string } {
  const checks = {
    name: name.trim() === "" || validateWith(brandName)(name.trim()),
    color: color === "" || validateWith(hexColor)(color),
  };
  return Object.fromEntries(Object.entries(checks).filter(([, result]) => result !== true));
}

const LOGO_TYPES = ["image/png", "image/jpeg", "image/webp"];

function LogoField({
  logo,
  onChange,
}: {
  logo: string | null;
  onChange: (logo: string | null) => void;
}) {
  async function choose(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    // A dialog for files can show all of them.
    if (!LOGO_TYPES.includes(file.type)) {
      toast(t("settings.branding.wrongType"), "error");
      return;
    }
    if (file.size > LOGO_BYTES_MAX) {
      toast(t("settings.branding.tooLarge", { max: LOGO_BYTES_MAX / 1024 }), "error");
      return;
    }
    onChange(await readDataUrl(file));
  }
  return (
    <div className="logo-field">
      <TextField
        label={t("fields.logo")}
        type="file"
        accept={LOGO_TYPES.join(",")}
        hint={t("settings.branding.logoHint")}
        onChange={({ target }) => void choose(target.files?.[0])}
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
