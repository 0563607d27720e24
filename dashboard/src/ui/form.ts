/**
 * Forms whose values an action of the API takes: the rules and the errors of their fields. There is
 * one way to say what is wrong: a rule is a schema of the API or a function, and its message is at
 * the field, in the language of the page. What only the API finds wrong with a field is said there,
 * too. The browser's own validation is off: it speaks the browser's language.
 */
import {
  type DefaultValues,
  type FieldErrors as FormErrors,
  type FieldValues,
  type Path,
  type PathValue,
  type Resolver,
  useForm,
  type UseFormReturn,
} from "react-hook-form";
import type * as z from "zod";

import { ShorthopError } from "../../../clients/typescript/src/index.ts";
import { getErrorMessage, validateWith } from "../languages/errors.ts";
import { t } from "../languages/translate.ts";
import { type Effects, useApiMutation } from "./states.tsx";

/** The messages about fields, by their names. */
export type FieldErrors<Values> = Partial<Record<keyof Values & string, string>>;

/**
 * A form and its action, with the properties of the form's element. Fields have rules of their own,
 * which apply once one was left; or the form has one for all of them (`validate`), which applies
 * while the user types. Before the action all fields are validated.
 */
export function useFormAction<Values extends FieldValues, Result>(
  defaultValues: Values,
  run: (values: Values) => Promise<Result>,
  effects: Effects<Result> = {},
  validate?: (values: Values) => FieldErrors<Values>,
) {
  const form = useForm<Values>({
    mode: validate === undefined ? "onTouched" : "onChange",
    // Every field has a value from the beginning.
    defaultValues: defaultValues as DefaultValues<Values>,
    ...(validate === undefined ? {} : { resolver: resolverOf(validate) }),
  });
  const action = useApiMutation(run, effects);
  function onError(error: unknown): void {
    const name = fieldOfError(error, form.getValues());
    if (name !== undefined)
      form.setError(name, { message: getErrorMessage(error) }, { shouldFocus: true });
  }
  const isAtField = fieldOfError(action.error, form.getValues()) !== undefined;
  return {
    form,
    action,
    props: {
      onSubmit: form.handleSubmit((values) => action.mutate(values, { onError })),
      task: { isPending: action.isPending, error: isAtField ? null : action.error },
      isDirty: form.formState.isDirty,
    },
  };
}

const resolverOf =
  <Values extends FieldValues>(
    validate: (values: Values) => FieldErrors<Values>,
  ): Resolver<Values> =>
  (values) => {
    const messages = Object.entries<string | undefined>(validate(values));
    const errors = messages.map(([name, message]) => [name, { type: "rule", message }]);
    return messages.length === 0
      ? { values, errors: {} }
      : // The names are those of the fields.
        { values: {}, errors: Object.fromEntries(errors) as FormErrors<Values> };
  };

function fieldOfError<Values extends FieldValues>(
  error: unknown,
  values: Values,
): Path<Values> | undefined {
  const param = error instanceof ShorthopError ? error.param : undefined;
  return param === undefined ? undefined : fieldOf(param, values);
}

/**
 * The field for what the API calls so: `preview_image` for `preview.image`, and `tags` for
 * `tags.0`; undefined for none.
 */
export const fieldOf = <Values extends FieldValues>(
  param: string,
  values: Values,
): (Path<Values> & keyof Values) | undefined =>
  [param.replaceAll(".", "_"), param.split(".", 1).join("")].find(
    (name) => Object.hasOwn(values, name),
    // It is the name of a field.
  ) as (Path<Values> & keyof Values) | undefined;

/** The rule of a field: a schema, or a function that returns true or the error message. */
type Rule<Value, Values> = z.ZodType | ((value: Value, values: Values) => true | string);

/** A field that must not be empty, whatever else it is. */
export const required = (text: string): true | string => text !== "" || t("ui.required");

/** A field that must not be empty, and has a rule besides. */
export const requiredBy =
  (schema: z.ZodType) =>
  (text: string): true | string =>
    text === "" ? t("ui.required") : validateWith(schema)(text);

/** A field that may be empty, and else has a rule. */
export const optionalBy =
  (schema: z.ZodType) =>
  (text: string): true | string =>
    text === "" || validateWith(schema)(text);

/**
 * A field's value and error in a form, as the properties of any control. When the field changes,
 * `deps` is validated as well.
 */
export function formField<Values extends FieldValues, Name extends Path<Values>>(
  form: UseFormReturn<Values>,
  name: Name,
  rule?: Rule<PathValue<Values, Name>, Values>,
  options: { deps?: Path<Values>; onBlur?: () => void } = {},
) {
  const validate = typeof rule === "object" ? validateWith(rule) : rule;
  const isText = typeof form.getValues(name) === "string";
  // The value of a text that is not filled in.
  const empty = (isText && validate?.("" as PathValue<Values, Name>, form.getValues())) || true;
  return {
    ...form.register(name, { ...options, ...(validate === undefined ? {} : { validate }) }),
    error: form.getFieldState(name, form.formState).error?.message,
    ...(empty === true ? {} : { "aria-required": true }),
  };
}
