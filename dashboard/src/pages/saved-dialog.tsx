/**
 * Lists what an account has saved: views of analytics, filters of links, or templates of UTM
 * parameters. Opens, saves and deletes them.
 */
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import type { SavedView } from "../../../clients/typescript/src/index.ts";
import { viewName } from "../../../shared/contracts/view-schemas.ts";
import { useApiQuery, useCanWrite, useClient } from "../data/session.ts";
import { t } from "../languages/translate.ts";
import { IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form, TextField } from "../ui/field.tsx";
import { formField, useFormAction } from "../ui/form.ts";
import { Empty, QueryBoundary, useApiMutation } from "../ui/states.tsx";
import { toast, useToastError } from "../ui/toast.tsx";

/** The kinds, as the client and the catalogues call them. */
type SavedKind = "views" | "linkFilters" | "utmTemplates";

type SavedDialogProps = {
  kind: SavedKind;
  /** What would be saved, as the query of a URL. */
  query: string;
  /** Called with the query of the chosen one, before the dialog closes. */
  onOpen: (query: string) => void;
  onClose: () => void;
  children?: ReactNode;
};

/** Queries all of a kind, by name. */
export const useSaved = (kind: SavedKind) =>
  useApiQuery(
    ["saved", kind],
    async (client, signal) => (await client[kind].list({ signal })).data,
  );

export function SavedDialog({ kind, query, onOpen, onClose, children }: SavedDialogProps) {
  const canWrite = useCanWrite();
  const saved = useSaved(kind);
  function open(chosen: string): void {
    onOpen(chosen);
    onClose();
  }
  return (
    <Dialog title={t(`saved.${kind}.title`)} onClose={onClose}>
      <QueryBoundary query={saved} label={t(`saved.${kind}.title`)} lines={2}>
        {(data) => <SavedList kind={kind} saved={data} onOpen={open} />}
      </QueryBoundary>
      {children}
      {canWrite && <SaveForm kind={kind} query={query} />}
    </Dialog>
  );
}

type SavedListProps = {
  kind: SavedKind;
  saved: readonly SavedView[];
  onOpen: (query: string) => void;
};

function SavedList({ kind, saved, onOpen }: SavedListProps) {
  const canWrite = useCanWrite();
  const api = useClient()[kind];
  const toastError = useToastError();
  const invalidate = ["saved"];
  // By an undo, at which the dialog may be closed.
  const save = useApiMutation(({ name, query }: SavedView) => api.save(name, { query }), {
    invalidate,
    onError: toastError,
  });
  const remove = useApiMutation(
    async (view: SavedView) => {
      await api.delete(view.name);
      return view;
    },
    {
      invalidate,
      onSuccess: (view) =>
        toast(t(`saved.${kind}.deleted`, { name: view.name }), "success", {
          label: t("ui.undo"),
          onSelect: () => save.mutate(view),
        }),
    },
  );
  if (saved.length === 0 && !canWrite) {
    return (
      <Empty title={t(`saved.${kind}.empty`)}>
        <p>{t("saved.emptyHint")}</p>
      </Empty>
    );
  }
  return (
    saved.length > 0 && (
      <ul className="view-list" aria-label={t(`saved.${kind}.title`)}>
        {saved.map((view) => (
          <li key={view.name}>
            <button type="button" className="value-button" onClick={() => onOpen(view.query)}>
              {view.name}
            </button>
            {canWrite && (
              <IconButton
                label={t(`saved.${kind}.delete`, { name: view.name })}
                onClick={() => remove.mutateAsync(view)}
              >
                <Trash2 aria-hidden />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
    )
  );
}

function SaveForm({ kind, query }: { kind: SavedKind; query: string }) {
  const client = useClient();
  const { form, props } = useFormAction(
    { name: "" },
    ({ name }) => client[kind].save(name.trim(), { query }),
    {
      invalidate: ["saved"],
      successMessage: t(`saved.${kind}.saved`),
      onSuccess(): void {
        form.reset();
      },
    },
  );
  return (
    <Form action={t(`saved.${kind}.save`)} {...props}>
      <TextField
        label={t("fields.name")}
        hint={t(`saved.${kind}.hint`)}
        {...formField(form, "name", viewName)}
      />
    </Form>
  );
}
