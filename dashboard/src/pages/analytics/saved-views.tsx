/** Saved views of the account: opens one, saves the current view, and deletes others. */
import { useQuery } from "@tanstack/react-query";
import { Bookmark, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";

import type { SavedView } from "../../../../clients/typescript/src/index.ts";
import { viewName } from "../../../../shared/contracts/view-schemas.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";
import { useAnalyticsQuery } from "./analytics-query.ts";

export function SavedViews() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Bookmark aria-hidden /> {t("analytics.views.open")}
      </Button>
      {open && <ViewsDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/** The key of the query of all views. */
const useViewsKey = () => ["views", useAccountContext().scope] as const;

function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const views = useQuery({
    queryKey: useViewsKey(),
    queryFn: async ({ signal }) => (await getClient(scope).views.list({ signal })).data,
  });
  return (
    <Dialog title={t("analytics.views.title")} onClose={onClose}>
      <QueryBoundary query={views} label={t("analytics.views.loading")} lines={2}>
        {(data) => <ViewList views={data} canWrite={canWrite} onClose={onClose} />}
      </QueryBoundary>
      {canWrite && <SaveViewForm onClose={onClose} />}
    </Dialog>
  );
}

type ViewListProps = { views: readonly SavedView[]; canWrite: boolean; onClose: () => void };

function ViewList({ views, canWrite, onClose }: ViewListProps) {
  const { scope } = useAccountContext();
  const { link } = useAnalyticsQuery();
  const [, navigate] = useLocation();
  const invalidate = [useViewsKey()];
  const save = useApiMutation(
    ({ name, query }: SavedView) => getClient(scope).views.save(name, { query }),
    { invalidate },
  );
  const remove = useApiMutation(
    async (view: SavedView) => {
      await getClient(scope).views.delete(view.name);
      return view;
    },
    {
      invalidate,
      onSuccess: (view) =>
        toast(t("analytics.views.deleted", { name: view.name }), "success", {
          label: t("links.bulk.undo"),
          onSelect: () => save.mutate(view),
        }),
    },
  );

  function openView({ query }: SavedView): void {
    const params = new URLSearchParams(query);
    // Analytics of a single link have neither filter.
    if (link !== undefined) for (const name of ["tag", "domain"]) params.delete(name);
    // "~" makes the path absolute.
    navigate(`~${location.pathname}?${params.toString()}`);
    onClose();
  }

  if (views.length === 0 && !canWrite) {
    return (
      <Empty title={t("analytics.views.empty")}>
        <p>{t("analytics.views.emptyHint")}</p>
      </Empty>
    );
  }
  return (
    <>
      {views.length > 0 && (
        <ul className="view-list" aria-label={t("analytics.views.title")}>
          {views.map((view) => (
            <li key={view.name}>
              <button type="button" className="value-button" onClick={() => openView(view)}>
                {view.name}
              </button>
              {canWrite && (
                <IconButton
                  label={t("analytics.views.delete", { name: view.name })}
                  onClick={() => remove.mutate(view)}
                >
                  <Trash2 aria-hidden />
                </IconButton>
              )}
            </li>
          ))}
        </ul>
      )}
      {remove.error !== null && <Alert>{getErrorMessage(remove.error)}</Alert>}
    </>
  );
}

function SaveViewForm({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const search = useSearch();
  const form = useForm({ mode: "onChange", defaultValues: { name: "" } });
  const save = useApiMutation(
    (name: string) =>
      // As a URL has it: percent-encoded.
      getClient(scope).views.save(name, { query: new URLSearchParams(search).toString() }),
    {
      invalidate: [useViewsKey()],
      successMessage: t("analytics.views.saved"),
      onSuccess: () => form.reset(),
    },
  );
  return (
    <DialogForm
      action={t("analytics.views.save")}
      onSubmit={(event) => void form.handleSubmit(({ name }) => save.mutate(name.trim()))(event)}
      onCancel={onClose}
      loading={save.isPending}
      error={save.error}
    >
      <TextField
        label={t("analytics.views.name")}
        hint={t("analytics.views.hint")}
        error={form.formState.errors.name?.message}
        {...form.register("name", { validate: validateWith(viewName) })}
      />
    </DialogForm>
  );
}
