/** The rules and the split of a link, edited together, with a test of the saved ones. */
import { useQuery } from "@tanstack/react-query";
import { ChartSpline } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { getClient, getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { useUnsavedGuard } from "../../ui/dialog.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, QueryBoundary } from "../../ui/states.tsx";
import { type Draft, readDraft, type RulesChange, toDraft } from "./draft.ts";
import { RuleList } from "./rule-list.tsx";
import { SplitEditor } from "./split-editor.tsx";
import { TryAs } from "./try-as.tsx";

export function RulesPage({ id }: { id: string }) {
  const { scope } = useAccountContext();
  const link = useQuery({
    queryKey: ["link", scope, id],
    // The editor must start from the saved state, and keep the user's input.
    staleTime: 0,
    refetchOnReconnect: false,
    queryFn: ({ signal }) => getClient(scope).links.get(id, { signal }),
  });
  return (
    <QueryBoundary query={link} label={t("links.theLink")} lines={8}>
      {(data) => (
        <Page
          title={t("rules.title", { url: readableUrl(data.short_url) })}
          intro={t("rules.intro")}
          actions={
            <PageLink href={`/links/${id}`} className="button button-plain">
              <ChartSpline aria-hidden /> {t("shell.pages.analytics")}
            </PageLink>
          }
        >
          <RulesEditor link={data} />
        </Page>
      )}
    </QueryBoundary>
  );
}

function RulesEditor({ link }: { link: FullLink }) {
  const canWrite = useCanWrite();
  const { draft, errors, dirty, save, change, discard, submit } = useRulesDraft(link);
  const targets = useTargets(link.id);
  const { confirmation } = useUnsavedGuard(() => canWrite && dirty);
  return (
    <div className="rules-page">
      {/* A disabled fieldset disables all of its fields. */}
      <fieldset className="stack" disabled={!canWrite}>
        <legend className="visually-hidden">{t("links.actions.rules")}</legend>
        <Card title={t("analytics.rules")}>
          <RuleList
            rules={draft.rules}
            errors={errors}
            targets={targets}
            onChange={(rules) => change({ rules })}
          />
        </Card>
        <Card title={t("rules.split")}>
          <SplitEditor
            draft={draft}
            destination={link.original_url}
            errors={errors}
            targets={targets}
            onChange={change}
          />
        </Card>
        {canWrite && dirty && (
          <SaveBar
            problem={
              Object.keys(errors).length > 0
                ? t("rules.someInvalid")
                : save.error !== null && getErrorMessage(save.error)
            }
            saving={save.isPending}
            onDiscard={discard}
            onSave={submit}
          />
        )}
      </fieldset>
      <TryAs link={link} dirty={dirty} />
      {confirmation}
    </div>
  );
}

/** Edits the rules and the split of a link, from its saved state. */
function useRulesDraft(link: FullLink) {
  const { scope } = useAccountContext();
  const [initial, setInitial] = useState(() => toDraft(link));
  const [draft, setDraft] = useState<Draft>(initial);
  const [tried, setTried] = useState(false);
  const read = readDraft(draft);
  const save = useApiMutation(
    (body: RulesChange) =>
      getJson<FullLink>(`${getBasePath(scope)}/v1/links/${link.id}`, { method: "PATCH", body }),
    {
      invalidate: [
        ["link", scope],
        ["targets", scope],
      ],
      successMessage: t("rules.saved"),
      onSuccess: (saved) => restart(toDraft(saved)),
    },
  );
  const restart = (saved: Draft) => {
    setInitial(saved);
    setDraft(saved);
    setTried(false);
  };
  return {
    draft,
    errors: tried && "errors" in read ? read.errors : {},
    dirty: draft !== initial,
    save,
    change: (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part })),
    discard: () => restart(initial),
    submit() {
      setTried(true);
      if ("change" in read) save.mutate(read.change);
    },
  };
}

/** Reads the clicks of the link by rule and version. */
function useTargets(linkId: string) {
  const { scope } = useAccountContext();
  const targets = useQuery({
    queryKey: ["targets", scope, linkId],
    queryFn: ({ signal }) => getClient(scope).analytics.targets(linkId, {}, { signal }),
  });
  return targets.data?.data ?? [];
}

type SaveBarProps = {
  problem: string | false;
  saving: boolean;
  onDiscard: () => void;
  onSave: () => void;
};

const SaveBar = ({ problem, saving, onDiscard, onSave }: SaveBarProps) => (
  <footer className="save-bar">
    {problem !== false && <Alert>{problem}</Alert>}
    <Button onClick={onDiscard}>{t("ui.unsaved.discard")}</Button>
    <Button variant="primary" loading={saving} onClick={onSave}>
      {t("links.form.save")}
    </Button>
  </footer>
);
