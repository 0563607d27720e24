/**
 * Styles the QR code of a link, with a preview and downloads, and saves the style for all links of
 * the account.
 */
import { Download } from "lucide-react";
import { useState } from "react";

import type { Link, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import {
  DEFAULT_QR_STYLE,
  findContrastProblem,
  MARGIN_MAX,
  type QrStyle,
  qrStyleFields,
} from "../../../../shared/contracts/qr-style.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext, useApiQuery, useCanWrite, useClient } from "../../data/session.ts";
import { describeRule } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { CheckField, ChoiceField, ColorField, isColor, SelectField } from "../../ui/field.tsx";
import { useDebounced } from "../../ui/search-state.ts";
import { ErrorAlert, QueryBoundary, useApiMutation } from "../../ui/states.tsx";

const FORMATS = ["svg", "png", "pdf"] as const;

const SIZES = ["256", "512", "1024", "2048"];
const CORRECTIONS = ["L", "M", "Q", "H"] as const;

const marginOptions = () =>
  Array.from({ length: MARGIN_MAX + 1 }, (_, modules) => ({
    value: modules,
    label:
      modules === DEFAULT_QR_STYLE.margin
        ? t("links.qr.standardMargin", { modules })
        : `${modules}`,
  }));

type QrDialogProps = {
  link: Link;
  onClose: () => void;
};

export function QrDialog({ link, onClose }: QrDialogProps) {
  const branding = useApiQuery(["branding"], (client) => client.branding.get());
  return (
    <Dialog title={t("links.qr.title")} onClose={onClose} wide>
      <QueryBoundary query={branding} label={t("links.qr.title")}>
        {(saved) => <QrEditor link={link} saved={saved} />}
      </QueryBoundary>
    </Dialog>
  );
}

function QrEditor({ link, saved }: { link: Link; saved: ResponseBody<"getBranding"> }) {
  const { scope } = useAccountContext();
  const client = useClient();
  const canWrite = useCanWrite();
  const [style, setStyle] = useState<QrStyle>(saved.qr_style ?? DEFAULT_QR_STYLE);
  const [image, setImage] = useState<QrImage>({ size: "512", error_correction: "M" });
  const save = useApiMutation(() => client.branding.update({ qr_style: style }), {
    invalidate: ["branding"],
    successMessage: t("links.qr.saved"),
  });
  const hasLogo = style.logo && saved.logo !== null;
  const problems = findProblems(style);
  const isValid = Object.keys(problems).length === 0;
  const query = { ...toQuery(style, saved.logo !== null), ...image };
  // What cannot be read is not drawn: the last one that can stays.
  const [drawn, setDrawn] = useState(query);
  if (isValid && JSON.stringify(query) !== JSON.stringify(drawn)) setDrawn(query);
  const preview = useDebounced(new URLSearchParams({ format: "svg", ...drawn }).toString());
  const path = `${getBasePath(scope)}/v1/links/${link.id}/qr`;
  return (
    <form
      className="qr-editor"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid && canWrite) save.mutate();
      }}
    >
      <figure>
        <img
          className="qr"
          src={`${path}?${preview}`}
          alt={t("commands.created.qr", { url: link.short_url })}
        />
        <figcaption className="centred">{readableUrl(link.short_url)}</figcaption>
        {isValid && (
          <div className="qr-downloads">
            <Downloads path={path} query={query} name={link.alias} />
          </div>
        )}
      </figure>
      <div className="stack">
        <StyleFields
          style={style}
          problems={problems}
          hasLogo={saved.logo !== null}
          onChange={(part) => {
            save.reset();
            setStyle((before) => ({ ...before, ...part }));
          }}
        />
        <ImageFields image={image} hasLogo={hasLogo} onChange={setImage} />
      </div>
      <ErrorAlert error={save.error} />
      {canWrite && (
        <footer>
          <Button type="submit" loading={save.isPending} disabled={!isValid}>
            {t("links.qr.saveStyle")}
          </Button>
        </footer>
      )}
    </form>
  );
}

type QrImage = { size: string; error_correction: string };

type ImageFieldsProps = {
  image: QrImage;
  /** A code with a logo always has the highest error correction. */
  hasLogo: boolean;
  onChange: (image: QrImage) => void;
};

const ImageFields = ({ image, hasLogo, onChange }: ImageFieldsProps) => (
  <div className="columns">
    <SelectField
      label={t("links.qr.size")}
      options={SIZES.map((size) => ({ value: size, label: t("links.qr.pixels", { size }) }))}
      value={image.size}
      onChange={({ target }) => onChange({ ...image, size: target.value })}
    />
    <SelectField
      label={t("links.qr.correction")}
      options={CORRECTIONS.map((value) => ({ value, label: t(`links.qr.corrections.${value}`) }))}
      disabled={hasLogo}
      value={hasLogo ? "H" : image.error_correction}
      onChange={({ target }) => onChange({ ...image, error_correction: target.value })}
    />
  </div>
);

type DownloadsProps = { path: string; query: Record<string, string>; name: string };

const Downloads = ({ path, query, name }: DownloadsProps) =>
  FORMATS.map((format) => (
    <a
      key={format}
      className="button button-plain"
      href={`${path}?${new URLSearchParams({ format, ...query }).toString()}`}
      download={`${name}.${format}`}
    >
      <Download aria-hidden /> {format.toUpperCase()}
    </a>
  ));

/**
 * The style as parameters of the image; a logo that the account does not have cannot be asked for.
 */
const toQuery = (
  { logo, margin, ...style }: QrStyle,
  hasLogo: boolean,
): Record<string, string> => ({
  ...style,
  margin: `${margin}`,
  logo: `${logo && hasLogo}`,
});

type Problems = Partial<Record<"foreground" | "background", string>>;

function findProblems({ foreground, background }: QrStyle): Problems {
  const notAColor = t("links.qr.notAColor");
  if (!isColor(foreground)) return { foreground: notAColor };
  if (!isColor(background)) return { background: notAColor };
  const problem = findContrastProblem({ foreground, background });
  return problem === undefined ? {} : { foreground: `${describeRule(problem)}.` };
}

type StyleFieldsProps = {
  style: QrStyle;
  problems: Problems;
  hasLogo: boolean;
  onChange: (part: Partial<QrStyle>) => void;
};

const StyleFields = ({ style, problems, hasLogo, onChange }: StyleFieldsProps) => (
  <>
    <div className="columns">
      <ColorField
        label={t("fields.foreground")}
        pickerLabel={t("links.qr.chooseCodeColor")}
        fallback={DEFAULT_QR_STYLE.foreground}
        value={style.foreground}
        error={problems.foreground}
        onChange={(foreground) => onChange({ foreground })}
      />
      <ColorField
        label={t("fields.background")}
        pickerLabel={t("links.qr.chooseBackground")}
        fallback={DEFAULT_QR_STYLE.background}
        value={style.background}
        error={problems.background}
        onChange={(background) => onChange({ background })}
      />
    </div>
    <div className="columns">
      <ChoiceField
        label={t("fields.shape")}
        options={qrStyleFields.shape.options.map((value) => ({
          value,
          label: t(`links.qr.shapes.${value}`),
        }))}
        value={style.shape}
        onChoose={(shape) => onChange({ shape })}
      />
      <ChoiceField
        label={t("fields.eyes")}
        options={qrStyleFields.eyes.options.map((value) => ({
          value,
          label: t(`links.qr.eyes.${value}`),
        }))}
        value={style.eyes}
        onChoose={(eyes) => onChange({ eyes })}
      />
      <ChoiceField
        label={t("fields.margin")}
        options={marginOptions()}
        value={style.margin}
        onChoose={(margin) => onChange({ margin })}
      />
    </div>
    <CheckField
      label={t("fields.logo")}
      hint={hasLogo ? undefined : t("links.qr.logoHint")}
      disabled={!hasLogo}
      checked={style.logo && hasLogo}
      onChange={({ target }) => onChange({ logo: target.checked })}
    />
  </>
);
