/** Templates of UTM parameters: choosing one fills the five fields of the form. */
import { Bookmark } from "lucide-react";
import { useState } from "react";
import { createPortal } from "react-dom";
import type { UseFormReturn } from "react-hook-form";

import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { SavedDialog } from "../saved-dialog.tsx";
import { type LinkValues, toTemplate, UTM_FIELDS } from "./form.ts";

export function UtmTemplates({ form }: { form: UseFormReturn<LinkValues> }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        <Bookmark aria-hidden /> {t("saved.utmTemplates.open")}
      </Button>
      {open &&
        // Forms cannot be within one another.
        createPortal(
          <SavedDialog
            kind="utmTemplates"
            query={toTemplate(form.getValues())}
            onOpen={(query) => fill(form, query)}
            onClose={() => setOpen(false)}
          />,
          document.body,
        )}
    </>
  );
}

/** Sets all five: what the template does not have is emptied. */
function fill(form: UseFormReturn<LinkValues>, query: string): void {
  const params = new URLSearchParams(query);
  for (const [name] of UTM_FIELDS)
    form.setValue(name, params.get(name) ?? "", { shouldDirty: true, shouldValidate: true });
}
