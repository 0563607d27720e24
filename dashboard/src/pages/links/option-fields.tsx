/** The optional settings of the link form, in collapsible sections. */
import type { UseFormReturn } from "react-hook-form";
import { Link as PageLink } from "wouter";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { Disclosure } from "../../ui/disclosure.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { formatCount } from "../../ui/format.ts";
import { type LinkValues, UTM_FIELDS } from "./form.ts";
import { PreviewFields } from "./preview-fields.tsx";

type FieldsProps = { form: UseFormReturn<LinkValues>; link: FullLink | undefined };

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
        Destinations by device, country or time, and A/B tests, are on the page{" "}
        <PageLink href={`/links/${link.id}/rules`}>Rules and split</PageLink>.
      </p>
    )}
  </>
);

function ScheduleFields({ form: { register, formState } }: Pick<FieldsProps, "form">) {
  const { starts_at, expires_at, expired_url } = formState.errors;
  return (
    <Disclosure
      title="Schedule and state"
      hasError={[starts_at, expires_at, expired_url].some(Boolean)}
    >
      <div className="stack">
        <div className="columns">
          <TextField
            label="Starts"
            type="datetime-local"
            hint="In your local time. Until then the link does not exist for visitors."
            error={starts_at?.message}
            {...register("starts_at")}
          />
          <TextField
            label="Expires"
            type="datetime-local"
            hint="In your local time."
            error={expires_at?.message}
            {...register("expires_at")}
          />
        </div>
        <TextField
          label="Once expired, redirect to"
          type="url"
          inputMode="url"
          hint="Also once the click limit is reached. Without one, visitors see that the link has ended."
          error={expired_url?.message}
          {...register("expired_url")}
        />
        <CheckField
          label="Disabled"
          hint="The link does not exist for visitors."
          {...register("disabled")}
        />
        <CheckField
          label="Archived"
          hint="Lists leave the link out. It redirects as before."
          {...register("archived")}
        />
      </div>
    </Disclosure>
  );
}

function LimitFields({ form: { register, watch, formState }, link }: FieldsProps) {
  const { max_clicks: error } = formState.errors;
  return (
    <Disclosure title="Limit and confirmation" hasError={error !== undefined}>
      <div className="stack">
        <div className="columns">
          <TextField
            label="Click limit"
            type="number"
            inputMode="numeric"
            min={1}
            step={1}
            placeholder="No limit"
            hint={describeLimit(link)}
            error={error?.message}
            {...register("max_clicks")}
          />
          <SelectField
            label="What consumes a click"
            options={[
              { value: "all", label: "Every request" },
              { value: "human", label: "Only people" },
            ]}
            hint="If only people, bots get a page with a button, never the destination."
            disabled={watch("max_clicks") === ""}
            {...register("limit_counts")}
          />
        </div>
        <CheckField
          label="Ask before redirecting"
          hint="A page with a button comes first. Mail scanners and chat apps do not press it, so they consume no click."
          {...register("confirm")}
        />
      </div>
    </Disclosure>
  );
}

/** Describes the remaining clicks of the saved limit. */
const describeLimit = (link: FullLink | undefined): string =>
  link?.max_clicks === undefined || link.clicks_left === undefined
    ? "How often the link redirects, and never more often."
    : `${formatCount(link.clicks_left)} of ${formatCount(link.max_clicks)} clicks are left.${link.clicks_left === 0 ? " A higher limit reopens the link." : ""}`;

function RequestFields({ form: { register, watch, formState }, link }: FieldsProps) {
  const { password: error } = formState.errors;
  const hasPassword = link?.has_password ?? false;
  return (
    <Disclosure title="Password, query and path" hasError={error !== undefined}>
      <div className="stack">
        <TextField
          label={hasPassword ? "New password" : "Password"}
          type="password"
          autoComplete="new-password"
          hint={
            hasPassword
              ? "Leave empty to keep the current password."
              : "Visitors must enter it to open the link."
          }
          disabled={watch("removePassword")}
          error={error?.message}
          {...register("password")}
        />
        {hasPassword && <CheckField label="Remove password" {...register("removePassword")} />}
        <CheckField
          label="Forward query parameters"
          hint="Adds the query parameters of the short URL to the destination."
          {...register("forward_query")}
        />
        <SelectField
          label="Longer paths"
          hint="Such as /spring-sale/shoes, where the link is /spring-sale."
          options={[
            { value: "", label: "Show an error page (404)" },
            { value: "append", label: "Are added to the destination’s path" },
            { value: "ignore", label: "Redirect to the destination itself" },
          ]}
          {...register("forward_path")}
        />
      </div>
    </Disclosure>
  );
}

function UtmFields({ form: { register, formState } }: Pick<FieldsProps, "form">) {
  const { errors } = formState;
  return (
    <Disclosure
      title="UTM parameters"
      hasError={UTM_FIELDS.some(([name]) => errors[name] !== undefined)}
    >
      <div className="columns">
        {UTM_FIELDS.map(([name, label, example]) => (
          <TextField
            key={name}
            label={label}
            placeholder={example}
            error={errors[name]?.message}
            {...register(name)}
          />
        ))}
      </div>
    </Disclosure>
  );
}

const IdFields = ({ form: { register, formState } }: Pick<FieldsProps, "form">) => (
  <Disclosure title="Your own id" hasError={formState.errors.external_id !== undefined}>
    <TextField
      label="External id"
      hint="What the link is called in your systems, such as a number of an order. Each id is of one link."
      autoCapitalize="none"
      spellCheck={false}
      error={formState.errors.external_id?.message}
      {...register("external_id")}
    />
  </Disclosure>
);
