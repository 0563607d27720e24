/** Dialogs that change a tag on all links that have it. */
import { useState } from "react";

import { ShorthopError, type Tag } from "../../../../clients/typescript/src/index.ts";
import { tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { TAG_COLORS } from "../../../../shared/contracts/tag-schemas.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { useTags } from "../../data/tags.ts";
import { t } from "../../languages/translate.ts";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { validateWith } from "../../ui/validation.ts";

type TagDialogProps = { tag: Tag; onClose: () => void };

const colorOptions = () => [
  { value: "", label: t("tags.noColor") },
  ...TAG_COLORS.map((color) => ({ value: color, label: t(`tags.colors.${color}`) })),
];

/** The queries that a change of a tag affects. */
function useAffectedQueries() {
  const { scope } = useAccountContext();
  return ["tags", "analytics", "links", "link"].map((name) => [name, scope]);
}

export function EditTagDialog({ tag, onClose }: TagDialogProps) {
  const { scope } = useAccountContext();
  const known = useTags();
  const [name, setName] = useState(tag.name);
  const [color, setColor] = useState(tag.color);
  const [merge, setMerge] = useState(false);
  const typed = name.trim();
  const save = useApiMutation(
    () =>
      getClient(scope).tags.update(tag.name, {
        ...(typed === tag.name ? {} : { name: typed, merge }),
        ...(color === tag.color ? {} : { color }),
      }),
    {
      invalidate: useAffectedQueries(),
      successMessage: ({ changed }) =>
        changed === 0 ? t("tags.changed") : t("tags.linksChanged", { count: changed }),
      onSuccess: onClose,
    },
  );
  // The API knows tags that this page does not.
  const wasTaken = save.error instanceof ShorthopError && save.error.code === "tag_taken";
  const isTaken = typed !== tag.name && (wasTaken || known.some((each) => each.name === typed));
  const rule = validateWith(tagRule)(name);
  const problem = rule === true && isTaken && !merge ? t("tags.mergeFirst") : rule;
  return (
    <Dialog title={t("tags.editTitle", { tag: tag.name })} onClose={onClose}>
      <DialogForm
        action={t("links.form.save")}
        onSubmit={() => problem === true && save.mutate()}
        onCancel={onClose}
        loading={save.isPending}
        error={wasTaken ? null : save.error}
      >
        <TextField
          label={t("tags.name")}
          hint={t("tags.nameHint")}
          value={name}
          error={problem === true ? undefined : problem}
          onChange={(event) => {
            setName(event.target.value);
            // Permitted for one name, and not for the next.
            setMerge(false);
            save.reset();
          }}
        />
        {isTaken && (
          <CheckField
            label={t("tags.merge", { tag: typed })}
            checked={merge}
            onChange={(event) => setMerge(event.target.checked)}
          />
        )}
        <SelectField
          label={t("tags.color")}
          options={colorOptions()}
          value={color ?? ""}
          onChange={(event) =>
            setColor(TAG_COLORS.find((each) => each === event.target.value) ?? null)
          }
        />
      </DialogForm>
    </Dialog>
  );
}

export function DeleteTagDialog({ tag, onClose }: TagDialogProps) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).tags.delete(tag.name), {
    invalidate: useAffectedQueries(),
    successMessage: (changed) => t("tags.removed", { count: changed }),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("tags.deleteTitle", { tag: tag.name })}
      action={t("tags.delete")}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>{t("tags.deleteText", { count: tag.links })}</p>
    </ConfirmDialog>
  );
}
