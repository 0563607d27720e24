/** A text field for tags, separated by commas, that completes the last one. */
import { type ComponentProps, useId } from "react";

import { useTags } from "../../data/tags.ts";
import { t } from "../../languages/translate.ts";
import { TextField } from "../../ui/field.tsx";
import { completeTags } from "./tag-options.ts";

type TagsFieldProps = Omit<ComponentProps<typeof TextField>, "hint" | "list"> & {
  /** The text of the field. */
  text: string;
};

export function TagsField({ text, ...field }: TagsFieldProps) {
  const listId = useId();
  const known = useTags().map(({ name }) => name);
  return (
    <>
      <TextField {...field} hint={t("links.form.tagsHint")} list={listId} autoComplete="off" />
      <datalist id={listId}>
        {completeTags(text, known).map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  );
}
