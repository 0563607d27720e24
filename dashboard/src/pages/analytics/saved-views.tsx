/** Saved views: opens one, saves the current view, and removes others. */
import { Bookmark, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";

import { readViews, removeView, saveView, viewName } from "../../data/saved-views.ts";
import { useAccountContext } from "../../data/session.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { validateWith } from "../../ui/validation.ts";
import { useAnalyticsQuery } from "./analytics-query.ts";

export function SavedViews() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Bookmark aria-hidden /> Views
      </Button>
      {open && <ViewsDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { session, account } = useAccountContext();
  const { link } = useAnalyticsQuery();
  const owner = { user: session.user.id, account: account.id };
  const search = useSearch();
  const [, navigate] = useLocation();
  const [views, setViews] = useState(() => readViews(owner));
  const form = useForm({ mode: "onChange", defaultValues: { name: "" } });
  const [error, setError] = useState<string>();

  function openView(saved: string): void {
    const params = new URLSearchParams(saved);
    // Analytics of a single link have neither filter.
    if (link !== undefined) for (const name of ["tag", "domain"]) params.delete(name);
    // "~" makes the path absolute.
    navigate(`~${location.pathname}?${params.toString()}`);
    onClose();
  }

  function save({ name }: { name: string }): void {
    try {
      setViews(saveView(owner, { name: name.trim(), search: search.replace(/^\?/, "") }));
      form.reset();
      setError(undefined);
      toast("The view has been saved.");
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : "The browser has no room for it.");
    }
  }

  return (
    <Dialog title="Saved views" onClose={onClose}>
      {views.length > 0 && (
        <ul className="view-list" aria-label="Saved views">
          {views.map(({ name, search: saved }) => (
            <li key={name}>
              <button type="button" className="value-button" onClick={() => openView(saved)}>
                {name}
              </button>
              <IconButton
                label={`Remove the view ${name}`}
                onClick={() => setViews(removeView(owner, name))}
              >
                <Trash2 aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <DialogForm
        action="Save view"
        onSubmit={(event) => void form.handleSubmit(save)(event)}
        onCancel={onClose}
        loading={false}
        error={null}
      >
        <TextField
          label="Name"
          hint="Saves filters, period and comparison, in this browser only. A view with this name is replaced."
          error={form.formState.errors.name?.message ?? error}
          {...form.register("name", {
            validate: (name) => validateWith(viewName)(name.trim()),
          })}
        />
      </DialogForm>
    </Dialog>
  );
}
