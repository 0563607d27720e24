/** The optional settings of the link form, in collapsible sections. */
import { Bookmark, ImageIcon } from "lucide-react";
import { useEffect, useState } from "react";
import type { UseFormReturn } from "react-hook-form";
import { Link as PageLink } from "wouter";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { UTM_NAMES } from "../../../../shared/contracts/analytics.ts";
import { UTM_EXAMPLES } from "../../../../shared/contracts/link-fields.ts";
import { REDIRECT_STATUSES } from "../../../../shared/contracts/redirect-status.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField, Disclosure, PasswordField, SelectField, TextField } from "../../ui/field.tsx";
import { formField } from "../../ui/form.ts";
import { SavedDialog } from "../saved-dialog.tsx";
import { type LinkValues, toTemplate } from "./form.ts";

type FormProps = { form: UseFormReturn<LinkValues> };
type FieldsProps = FormProps & { link: FullLink | undefined };

export const OptionalFields = ({ form, link }: FieldsProps) => (
  <>
    <ScheduleFields form={form} />
    <LimitFields form={form} link={link} />
    <PreviewFields form={form} hasPassword={link?.has_password ?? false} />
    <RequestFields form={form} link={link} />
    <UtmFields form={form} />
    <IdFields form={form} />
    {link !== undefined && (
      <p className="hint">
        {rich("links.form.rulesElsewhere", {
          page: (name) => <PageLink href={`/links/${link.id}/rules`}>{name}</PageLink>,
        })}
      </p>
    )}
  </>
);

function ScheduleFields({ form }: FormProps) {
  return (
    <Disclosure title={t("links.form.schedule")}>
      <div className="columns">
        <TextField
          label={t("links.form.starts")}
          type="datetime-local"
          hint={t("links.form.startsHint")}
          {...formField(form, "starts_at")}
        />
        <TextField
          label={t("ui.expires")}
          type="datetime-local"
          hint={t("links.form.localTime")}
          {...formField(form, "expires_at")}
        />
      </div>
      <TextField
        label={t("links.form.expiredUrl")}
        type="url"
        inputMode="url"
        hint={t("links.form.expiredUrlHint")}
        {...formField(form, "expired_url")}
      />
      <CheckField
        label={t("fields.disabled")}
        hint={t("links.form.disabledHint")}
        {...formField(form, "disabled")}
      />
      <CheckField
        label={t("fields.archived")}
        hint={t("links.form.archivedHint")}
        {...formField(form, "archived")}
      />
    </Disclosure>
  );
}

function LimitFields({ form, link }: FieldsProps) {
  return (
    <Disclosure title={t("links.form.limits")}>
      <div className="columns">
        <TextField
          label={t("fields.max_clicks")}
          type="number"
          inputMode="numeric"
          min={1}
          step={1}
          placeholder={t("links.form.noLimit")}
          hint={describeLimit(link)}
          {...formField(form, "max_clicks")}
        />
        <SelectField
          label={t("fields.limit_counts")}
          options={[
            { value: "all", label: t("links.form.everyRequest") },
            { value: "human", label: t("links.form.onlyPeople") },
          ]}
          hint={t("links.form.consumesHint")}
          disabled={form.watch("max_clicks") === ""}
          {...formField(form, "limit_counts")}
        />
      </div>
      <CheckField
        label={t("links.form.confirm")}
        hint={t("links.form.confirmHint")}
        {...formField(form, "confirm")}
      />
    </Disclosure>
  );
}

/** Describes the remaining clicks of the saved limit. */
const describeLimit = (link: FullLink | undefined): string =>
  link?.max_clicks === undefined || link.clicks_left === undefined
    ? t("links.form.limitHint")
    : t(link.clicks_left === 0 ? "links.form.limitReopen" : "links.form.limitLeft", {
        left: link.clicks_left,
        max: link.max_clicks,
      });

function RequestFields({ form, link }: FieldsProps) {
  const hasPassword = link?.has_password ?? false;
  return (
    <Disclosure title={t("links.form.request")}>
      <PasswordField
        label={hasPassword ? t("settings.profile.newPassword") : t("fields.password")}
        autoComplete="new-password"
        hint={hasPassword ? t("links.form.keepPassword") : t("links.form.passwordHint")}
        disabled={form.watch("removePassword")}
        {...formField(form, "password")}
      />
      {hasPassword && (
        <CheckField label={t("links.form.removePassword")} {...formField(form, "removePassword")} />
      )}
      <CheckField
        label={t("links.form.forwardQuery")}
        hint={t("links.form.forwardQueryHint")}
        {...formField(form, "forward_query")}
      />
      <SelectField
        label={t("fields.forward_path")}
        hint={t("links.form.longerPathsHint")}
        options={[
          { value: "", label: t("links.form.pathError") },
          { value: "append", label: t("links.form.pathAppend") },
          { value: "ignore", label: t("links.form.pathIgnore") },
        ]}
        {...formField(form, "forward_path")}
      />
      <SelectField
        label={t("links.form.redirectStatus")}
        hint={t("links.form.redirectStatusHint")}
        options={[
          { value: "", label: t("links.form.redirectStatusOfDomain") },
          ...REDIRECT_STATUSES.map((status) => ({
            value: String(status),
            label: t(`links.form.redirectStatuses.${status}`),
          })),
        ]}
        {...formField(form, "redirect_status")}
      />
    </Disclosure>
  );
}

function UtmFields({ form }: FormProps) {
  return (
    <Disclosure title={t("links.form.utm")}>
      <div className="columns">
        {UTM_NAMES.map((name) => (
          <TextField
            key={name}
            label={t(`links.utm.${name}`)}
            placeholder={UTM_EXAMPLES[name]}
            {...formField(form, name)}
          />
        ))}
      </div>
      <UtmTemplates form={form} />
    </Disclosure>
  );
}

const IdFields = ({ form }: FormProps) => (
  <Disclosure title={t("links.form.ownId")}>
    <TextField
      label={t("fields.external_id")}
      hint={t("links.form.externalIdHint")}
      autoCapitalize="none"
      spellCheck={false}
      {...formField(form, "external_id")}
    />
  </Disclosure>
);

/** Templates of UTM parameters: choosing one fills the five fields of the form. */
function UtmTemplates({ form }: FormProps) {
  return (
    <Button
      variant="quiet"
      opens={(close) => (
        <SavedDialog
          kind="utmTemplates"
          query={toTemplate(form.getValues())}
          onOpen={(query) => fill(form, query)}
          onClose={close}
        />
      )}
    >
      <Bookmark aria-hidden /> {t("saved.utmTemplates.open")}
    </Button>
  );
}

/** Sets all five: what the template does not have is emptied. */
function fill(form: UseFormReturn<LinkValues>, query: string): void {
  const params = new URLSearchParams(query);
  for (const name of UTM_NAMES)
    form.setValue(name, params.get(name) ?? "", { shouldDirty: true, shouldValidate: true });
}

// The fields of a link's preview, and its card as chats and social networks display it.

/**
 * How long an image's URL must stay unchanged before the image is fetched: half-typed hosts get no
 * request.
 */
const SETTLED_MS = 700;

/** A card needs a title: its presence is validated again when another field changes. */
const NEEDS_TITLE = { deps: "preview_title" } as const;

function PreviewFields({
  form,
  hasPassword,
}: {
  form: UseFormReturn<LinkValues>;
  hasPassword: boolean;
}) {
  const { session } = useAccountContext();
  const [title, description, image, domain, password, removed] = form.watch([
    "preview_title",
    "preview_description",
    "preview_image",
    "domain",
    "password",
    "removePassword",
  ]);
  const isProtected = password !== "" || (hasPassword && !removed);
  return (
    <Disclosure title={t("fields.preview")}>
      <p className="hint">
        {t("links.preview.text")}
        {isProtected && ` ${t("links.preview.protected")}`}
      </p>
      <TextField
        label={t("links.preview.cardTitle")}
        placeholder={t("links.preview.cardTitleExample")}
        {...formField(form, "preview_title")}
      />
      <TextField
        label={t("links.preview.cardDescription")}
        placeholder={t("links.preview.cardDescriptionExample")}
        {...formField(form, "preview_description", undefined, NEEDS_TITLE)}
      />
      <TextField
        label={t("links.preview.cardImage")}
        type="url"
        inputMode="url"
        placeholder="https://example.com/spring.png"
        hint={t("links.preview.cardImageHint")}
        {...formField(form, "preview_image", undefined, NEEDS_TITLE)}
      />
      {title.trim() !== "" && (
        <SocialCard
          host={domain === "" ? new URL(session.short_url).host : domain}
          title={title}
          description={description}
          image={form.getFieldState("preview_image", form.formState).invalid ? "" : image}
        />
      )}
    </Disclosure>
  );
}

type SocialCardProps = { host: string; title: string; description: string; image: string };

const SocialCard = ({ host, title, description, image }: SocialCardProps) => (
  <figure className="social">
    <div className="social-card">
      <CardImage key={image} url={image.trim()} />
      <div className="social-text">
        <span className="social-host">{host}</span>
        <strong>{title}</strong>
        {description.trim() !== "" && <span className="social-description">{description}</span>}
      </div>
    </div>
    <figcaption className="hint">{t("links.preview.caption")}</figcaption>
  </figure>
);

/** The card's image, after its URL has stayed unchanged for a moment. */
function CardImage({ url }: { url: string }) {
  const [state, setState] = useState<"waiting" | "shown" | "failed">("waiting");
  useEffect(() => {
    const timer = setTimeout(() => setState("shown"), SETTLED_MS);
    return () => clearTimeout(timer);
  }, []);
  const parsed = parseWebUrl(url);
  if (state === "shown" && "url" in parsed && parsed.url.protocol === "https:") {
    return (
      <img
        className="social-image"
        src={parsed.url.href}
        alt={t("links.preview.imageAlt")}
        // Not fetched before the section is open.
        loading="lazy"
        onError={() => setState("failed")}
      />
    );
  }
  return (
    <div className="social-image social-empty">
      <ImageIcon aria-hidden />
      <span>
        {state === "failed" ? t("links.preview.imageFailed") : t("links.preview.noImage")}
      </span>
    </div>
  );
}
