/** Creates or edits a link. Validates input while the user types, by the API's rules. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import type { CreatedLink, NewLinkStart } from "../../data/commands.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import { useUnsavedGuard } from "../../ui/unsaved-guard.tsx";
import { copyValues, toFormValues } from "./form.ts";
import { LinkForm } from "./link-form.tsx";

type EditDialogProps = {
  onClose: () => void;
} & ({ link: { id: string } } | { start: NewLinkStart; onCreated: (created: CreatedLink) => void });

export function EditDialog(props: EditDialogProps) {
  const isNew = "start" in props;
  const id = isNew ? props.start.copyOf : props.link.id;
  const readDirty = useRef<() => boolean>(null);
  const { guard, confirmation } = useUnsavedGuard(() => readDirty.current?.() ?? false);
  const close = () => guard(props.onClose);
  const common = { readDirty, onCancel: close };
  const current = useSavedLink(id);
  return (
    <Dialog title={isNew ? t("commands.newLink") : t("links.form.editTitle")} onClose={close} wide>
      {id === undefined && isNew && (
        <LinkForm
          {...common}
          initial={{ ...toFormValues(), url: props.start.url ?? "" }}
          onCreated={props.onCreated}
        />
      )}
      {id !== undefined && (
        <QueryBoundary query={current} label={t("links.theLink")} lines={6}>
          {(link) =>
            isNew ? (
              <LinkForm
                {...common}
                initial={copyValues(link, Date.now())}
                original={link}
                onCreated={props.onCreated}
              />
            ) : (
              <LinkForm
                {...common}
                initial={toFormValues(link)}
                link={link}
                onSaved={props.onClose}
              />
            )
          }
        </QueryBoundary>
      )}
      {confirmation}
    </Dialog>
  );
}

/**
 * Fetches a link with all of its settings: a form must start from the current ones, never from
 * cached ones.
 */
function useSavedLink(id: string | undefined) {
  const { scope } = useAccountContext();
  return useQuery({
    queryKey: ["link to edit", scope, id],
    enabled: id !== undefined,
    staleTime: 0,
    gcTime: 0,
    queryFn: () =>
      getJson<FullLink>(`${getBasePath(scope)}/v1/links/${id}`, {
        query: { include: "settings" },
      }),
  });
}
