/** A text field for values, separated by commas, that completes the last one. */
import { type ComponentProps, useId } from "react";

import { completeList, type ListOption } from "../data/complete-list.ts";
import { useTags } from "../data/tags.ts";
import { t } from "../languages/translate.ts";
import { TextField } from "./field.tsx";

type TagsFieldProps = Omit<ComponentProps<typeof TextField>, "hint" | "list"> & {
  /** The text of the field. */
  text: string;
};

type ListFieldProps = ComponentProps<typeof TextField> & {
  text: string;
  options: readonly ListOption[];
};

export function ListField({ text, options, ...field }: ListFieldProps) {
  const listId = useId();
  return (
    <>
      <TextField {...field} list={listId} autoComplete="off" spellCheck={false} />
      <datalist id={listId}>
        {completeList(text, options).map(({ value, label }) => (
          <option key={value} value={value} label={label} />
        ))}
      </datalist>
    </>
  );
}

export const TagsField = (field: TagsFieldProps) => (
  <ListField
    {...field}
    hint={t("links.form.tagsHint")}
    options={useTags().map(({ name }) => ({ name }))}
  />
);
