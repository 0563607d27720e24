/** Creates or edits a link. Validates input while the user types, by the API's rules. */
import { useQueryClient } from "@tanstack/react-query";
import { ClipboardPaste } from "lucide-react";
import { useEffect, useState } from "react";
import { type UseFormReturn, useWatch } from "react-hook-form";

import type { Domain, FullLink } from "../../../../clients/typescript/src/index.ts";
import { completeUrl, parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { useDomainOptions } from "../../data/account-lists.ts";
import type { CreatedLink, NewLinkStart } from "../../data/commands.ts";
import { useAccountContext, useApiQuery, useClient } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, SelectField, TagsField, TextAreaField, TextField } from "../../ui/field.tsx";
import { formField, useFormAction } from "../../ui/form.ts";
import { QueryBoundary } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import {
  copyDecisions,
  copyValues,
  getChanges,
  type LinkValues,
  toFormValues,
  toRequestBody,
  validateLink,
} from "./form.ts";
import { OptionalFields } from "./option-fields.tsx";

type EditDialogProps = {
  onClose: () => void;
} & ({ link: { id: string } } | { start: NewLinkStart; onCreated: (created: CreatedLink) => void });

export function EditDialog(props: EditDialogProps) {
  const isNew = "start" in props;
  const id = isNew ? props.start.copyOf : props.link.id;
  const current = useSavedLink(id);
  return (
    <Dialog
      title={isNew ? t("commands.newLink") : t("links.form.editTitle")}
      onClose={props.onClose}
      wide
    >
      {id === undefined && isNew && (
        <LinkForm
          initial={{ ...toFormValues(), url: props.start.url ?? "" }}
          onCreated={props.onCreated}
        />
      )}
      {id !== undefined && (
        <QueryBoundary query={current} label={t("links.theLink")} lines={6}>
          {(link) =>
            isNew ? (
              <LinkForm
                initial={copyValues(link, Date.now())}
                original={link}
                onCreated={props.onCreated}
              />
            ) : (
              <LinkForm initial={toFormValues(link)} link={link} onSaved={props.onClose} />
            )
          }
        </QueryBoundary>
      )}
    </Dialog>
  );
}

/**
 * Fetches a link with all of its settings: a form must start from the current ones, never from
 * cached ones.
 */
const useSavedLink = (id = "") =>
  useApiQuery(["edited-link", id], (client) => client.links.get(id, { include: "settings" }), {
    enabled: id !== "",
    staleTime: 0,
    gcTime: 0,
  });

type LinkFormProps = {
  /** The initial values: those of a link, or the defaults of a new one. */
  initial: LinkValues;
  /** The edited link; without one, the form creates a link. */
  link?: FullLink;
  /** The link that a new one copies. */
  original?: FullLink;
  onSaved?: () => void;
  onCreated?: (created: CreatedLink) => void;
};

function LinkForm(props: LinkFormProps) {
  const { link, original, onSaved } = props;
  // Later renders pass new values, but input is compared with the first ones.
  const [initial] = useState(props.initial);
  const save = useSave(props, initial);
  const { form, props: submission } = useFormAction(
    initial,
    save,
    {
      invalidate: ["links", "link", "tags"],
      ...(link === undefined ? {} : { successMessage: t("links.form.updated") }),
      ...(onSaved === undefined ? {} : { onSuccess: onSaved }),
    },
    (values) => validateLink(values, Date.now(), link === undefined ? undefined : initial),
  );
  function fillUrl(url: string): void {
    // It is not input that somebody would miss.
    form.resetField("url", { defaultValue: url });
    void form.trigger("url");
    form.setFocus("url", { shouldSelect: true });
  }
  return (
    <Form action={link === undefined ? t("links.form.create") : t("ui.save")} {...submission}>
      {original !== undefined && (
        <p className="hint">{t("links.form.copyOf", { alias: original.alias })}</p>
      )}
      <MainFields form={form} isNew={link === undefined} fillUrl={fillUrl} />
      <OptionalFields form={form} link={link} />
    </Form>
  );
}

function useSave({ link, original, onCreated }: LinkFormProps, initial: LinkValues) {
  const { links } = useClient();
  return async (values: LinkValues): Promise<void> => {
    if (link !== undefined) {
      await links.update(link.id, getChanges(initial, values));
      return;
    }
    const decisions = original === undefined ? {} : copyDecisions(original);
    const created = links.create({ ...toRequestBody(values), ...decisions });
    const copied = copyWhenReady(created.then(({ short_url }) => short_url));
    // Called immediately: the list is fetched again meanwhile.
    onCreated?.({ link: await created, copied });
  };
}

type FieldsProps = { form: UseFormReturn<LinkValues> };

/** `fillUrl` puts a URL into the form and selects it, so that typing replaces it. */
type MainFieldsProps = FieldsProps & { isNew: boolean; fillUrl: (url: string) => void };

function MainFields({ form, isNew, fillUrl }: MainFieldsProps) {
  const tags = useWatch({ control: form.control, name: "tags" });
  useCopiedUrl(isNew && form.getValues("url") === "", (url) => {
    // The user may have typed something while the clipboard was read.
    if (form.getValues("url") === "") fillUrl(url);
  });
  return (
    <>
      <div className="with-button">
        <TextField
          label={t("fields.url")}
          type="url"
          inputMode="url"
          placeholder="https://example.com/a/long/path"
          autoFocus
          aria-required
          {...formField(form, "url", undefined, { onBlur: () => completeField(form) })}
        />
        {isNew && <PasteButton onPaste={fillUrl} />}
      </div>
      <div className="columns">
        {isNew && <DomainField form={form} />}
        <TextField
          label={t("fields.alias")}
          hint={isNew ? t("links.form.aliasHintNew") : t("links.form.aliasHint")}
          autoCapitalize="none"
          spellCheck={false}
          {...formField(form, "alias")}
        />
      </div>
      <TextField
        label={t("fields.title")}
        hint={t("links.form.titleHint")}
        {...formField(form, "title")}
      />
      <TagsField label={t("fields.tags")} text={tags} {...formField(form, "tags")} />
      <TextAreaField
        label={t("fields.notes")}
        hint={t("links.form.notesHint")}
        rows={2}
        {...formField(form, "notes")}
      />
    </>
  );
}

/** Displays the scheme that is added to a host. */
function completeField(form: UseFormReturn<LinkValues>): void {
  const typed = form.getValues("url");
  const url = completeUrl(typed);
  if (url !== typed) form.setValue("url", url, { shouldDirty: true, shouldValidate: true });
}

function DomainField({ form }: FieldsProps) {
  const options = useDomainOptions();
  return (
    <SelectField
      label={t("fields.domain")}
      options={options}
      // On a domain of the account, fewer words are reserved.
      {...formField(form, "domain", undefined, { deps: "alias" })}
    />
  );
}

// The clipboard: writes a new link's short URL, and reads its destination, automatically if the
// browser allows it, otherwise by a button.

/** Returns a function that reads a destination from the clipboard; undefined if there is none. */
function useReadUrl(): () => Promise<string | undefined> {
  const { scope, session } = useAccountContext();
  const queryClient = useQueryClient();
  return async () => {
    const text = await readClipboard();
    // Uses only cached domains: the clipboard is not worth a request.
    const domains = queryClient.getQueryData<Domain[]>(["domains", scope]) ?? [];
    const hosts = [new URL(session.short_url).host, ...domains.map(({ domain }) => domain)];
    return readCopiedUrl(text, hosts);
  };
}

/**
 * Takes the URL from the clipboard when the form opens, if the browser allows that without asking.
 */
function useCopiedUrl(enabled: boolean, onUrl: (url: string) => void): void {
  const readUrl = useReadUrl();
  useEffect(() => {
    if (!enabled) return;
    void readPermission().then(async (state) => {
      const url = state === "granted" ? await readUrl() : undefined;
      if (url !== undefined) onUrl(url);
    });
    // Once, for what is in the clipboard when the form opens.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, []);
}

/** Pastes on a click if the browser asks first; afterwards the form does it automatically. */
function PasteButton({ onPaste }: { onPaste: (url: string) => void }) {
  const readUrl = useReadUrl();
  const [prompts, setPrompts] = useState(false);
  useEffect(() => {
    void readPermission().then((state) => setPrompts(state === "prompt"));
  }, []);
  async function paste(): Promise<void> {
    const url = await readUrl();
    if (url === undefined) toast(t("links.form.noUrlCopied"), "error");
    else onPaste(url);
  }
  return (
    prompts && (
      <IconButton label={t("links.form.paste")} onClick={paste}>
        <ClipboardPaste aria-hidden />
      </IconButton>
    )
  );
}

/**
 * Copies a text that is not available yet. Must be called while the user's click or key is being
 * handled: browsers allow a copy only then. Returns whether the text has been copied. Never throws,
 * even if the text rejects.
 */
async function copyWhenReady(text: Promise<string>): Promise<boolean> {
  try {
    const content = text.then((ready) => new Blob([ready], { type: "text/plain" }));
    // The browser may reject the copy first; then nothing else here awaits the text.
    content.catch(() => undefined);
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return true;
  } catch {
    // Some browsers lack clipboard items, or do not accept promises in them.
    return await text.then(copyText).catch(() => false);
  }
}

/**
 * Copies a text. Throws if the browser does not allow it or has no clipboard, as on a page without
 * https.
 */
async function copyText(text: string): Promise<boolean> {
  await navigator.clipboard.writeText(text);
  return true;
}

/** Whether the clipboard can be read: immediately, after the browser has asked, or not at all. */
async function readPermission(): Promise<PermissionState> {
  try {
    // The type lists only the names that all browsers support; browsers without this one throw.
    const name = "clipboard-read" as PermissionName;
    return (await navigator.permissions.query({ name })).state;
  } catch {
    return "denied";
  }
}

/** Returns the text of the clipboard; "" if it has none or cannot be read. */
async function readClipboard(): Promise<string> {
  try {
    return await navigator.clipboard.readText();
  } catch {
    return "";
  }
}

/**
 * Returns the URL in a clipboard for a new link. Accepts only URLs with a scheme: other text may be
 * anything, such as a password. Ignores short URLs on `hosts`, which people have usually just
 * copied.
 */
export function readCopiedUrl(text: string, hosts: readonly string[]): string | undefined {
  const parsed = parseWebUrl(text);
  const isUrl = "url" in parsed && /^https?:\/\//i.test(parsed.original);
  return isUrl && !hosts.includes(parsed.url.host) ? parsed.original : undefined;
}
