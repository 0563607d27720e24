/** The rules and the split of a link, edited together, with a test of the saved ones. */
import { ArrowDown, ArrowUp, ChartSpline, GripVertical, Plus, Trash2 } from "lucide-react";
import { type DragEvent, type MouseEvent, type ReactNode, useState } from "react";
import { Link as PageLink } from "wouter";

import type { FullLink } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext, useApiQuery, useCanWrite } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { useUnsavedGuard } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { ConditionFields } from "./condition-fields.tsx";
import {
  type Draft,
  type DraftErrors,
  moveEntry,
  newCondition,
  newRule,
  readDraft,
  type RuleDraft,
  type RulesChange,
  toDraft,
} from "./draft.ts";
import { type Counts, RuleCounts, SplitEditor } from "./split-editor.tsx";
import { TryAs } from "./try-as.tsx";

export function RulesPage({ id }: { id: string }) {
  // The editor must start from the saved state, and keep the user's input.
  const link = useApiQuery(["link", id], (client, signal) => client.links.get(id, { signal }), {
    staleTime: 0,
    refetchOnReconnect: false,
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
  const counts = useApiQuery(["targets", link.id], (client, signal) =>
    client.analytics.targets(link.id, {}, { signal }),
  );
  const targets = counts.data?.data ?? [];
  const { confirmation } = useUnsavedGuard(() => canWrite && dirty);
  return (
    <div className="rules-page">
      {/* A disabled fieldset disables all of its fields. */}
      <fieldset className="stack" disabled={!canWrite}>
        <legend className="visually-hidden">{t("links.actions.rules")}</legend>
        <Card title={t("fields.rules")}>
          <RuleList
            rules={draft.rules}
            errors={errors}
            targets={targets}
            onChange={(rules) => change({ rules })}
          />
        </Card>
        <Card title={t("fields.split")}>
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
      invalidate: ["link", "targets"],
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
      {t("ui.save")}
    </Button>
  </footer>
);

// The rules in order: moved by dragging or by buttons, each with its conditions and destination.

type RuleListProps = {
  rules: readonly RuleDraft[];
  errors: DraftErrors;
  targets: readonly Counts[];
  onChange: (rules: readonly RuleDraft[]) => void;
};

/** Maximum rules of a link, and maximum conditions of a rule. */
const RULES_MAX = 20;
const CONDITIONS_MAX = 10;

function RuleList({ rules, errors, targets, onChange }: RuleListProps) {
  const [dragged, setDragged] = useState<number>();
  const [announcement, setAnnouncement] = useState("");
  function move(from: number, to: number): void {
    onChange(moveEntry(rules, from, to));
    setAnnouncement(t("rules.moved", { from: from + 1, to: to + 1 }));
  }
  const acceptDrop = (event: DragEvent): void => {
    if (dragged !== undefined) event.preventDefault();
  };
  return (
    <div className="stack">
      <ol className="rules">
        {rules.map((rule, i) => (
          <li
            key={rule.key}
            className={dragged === i ? "rule rule-dragged" : "rule"}
            aria-label={t("rules.rule", { number: i + 1 })}
            onDragEnter={acceptDrop}
            onDragOver={acceptDrop}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged !== undefined && dragged !== i) move(dragged, i);
              setDragged(undefined);
            }}
          >
            <RuleHead
              number={i + 1}
              isLast={i === rules.length - 1}
              counts={<RuleCounts targets={targets} id={rule.id ?? ""} />}
              onDragStart={() => setDragged(i)}
              onDragEnd={() => setDragged(undefined)}
              onMove={(by) => move(i, i + by)}
              onRemove={() => onChange(rules.filter((other) => other !== rule))}
            />
            <RuleFields
              rule={rule}
              errorOf={(place) => errors[`rules.${i}.${place}`]}
              onChange={(changed) =>
                onChange(rules.map((other) => (other === rule ? changed : other)))
              }
            />
          </li>
        ))}
      </ol>
      <p className="visually-hidden" role="status">
        {announcement}
      </p>
      {rules.length < RULES_MAX && (
        <div>
          <Button onClick={() => onChange([...rules, newRule()])}>
            <Plus aria-hidden /> {t("rules.add")}
          </Button>
        </div>
      )}
    </div>
  );
}

type RuleFieldsProps = {
  rule: RuleDraft;
  errorOf: (place: string) => string | undefined;
  onChange: (rule: RuleDraft) => void;
};

const RuleFields = ({ rule, errorOf, onChange }: RuleFieldsProps) => {
  const { conditions } = rule;
  return (
    <div className="stack">
      {conditions.map((condition, i) => (
        <ConditionFields
          key={condition.key}
          condition={condition}
          error={errorOf(`conditions.${i}`)}
          onChange={(changed) =>
            onChange({
              ...rule,
              conditions: conditions.map((other) => (other === condition ? changed : other)),
            })
          }
          {...(conditions.length === 1
            ? {}
            : {
                onRemove: () =>
                  onChange({
                    ...rule,
                    conditions: conditions.filter((other) => other !== condition),
                  }),
              })}
        />
      ))}
      {conditions.length < CONDITIONS_MAX && (
        <div>
          <Button
            variant="quiet"
            onClick={() =>
              onChange({ ...rule, conditions: [...conditions, newCondition("country")] })
            }
          >
            <Plus aria-hidden /> {t("rules.addCondition")}
          </Button>
        </div>
      )}
      <TextField
        label={t("rules.redirectTo")}
        type="url"
        inputMode="url"
        placeholder="https://example.com/app"
        value={rule.url}
        error={errorOf("url")}
        onChange={(event) => onChange({ ...rule, url: event.target.value })}
      />
    </div>
  );
};

type RuleHeadProps = {
  number: number;
  isLast: boolean;
  counts: ReactNode;
  onDragStart: () => void;
  onDragEnd: () => void;
  /** The number of positions to move by: -1 or 1. */
  onMove: (by: number) => void;
  onRemove: () => void;
};

function RuleHead(props: RuleHeadProps) {
  const { number, isLast, counts, onDragStart, onDragEnd, onMove, onRemove } = props;
  const canWrite = useCanWrite();
  function startDrag({ dataTransfer }: DragEvent): void {
    // Firefox does not start a drag without data.
    dataTransfer.setData("text/plain", t("rules.rule", { number }));
    dataTransfer.effectAllowed = "move";
    onDragStart();
  }
  function move({ currentTarget: button }: MouseEvent<HTMLButtonElement>, by: number): void {
    onMove(by);
    // A button that is moved on the page, or disabled at an end of the list, loses the focus.
    requestAnimationFrame(() => {
      const usable = button.parentElement?.querySelector<HTMLElement>("button:not(:disabled)");
      (button.disabled ? usable : button)?.focus();
    });
  }
  return (
    <header className="rule-head">
      <span
        className="rule-handle"
        title={t("rules.drag")}
        draggable={canWrite}
        onDragStart={startDrag}
        onDragEnd={onDragEnd}
      >
        <GripVertical aria-hidden />
        <strong>{t("rules.rule", { number })}</strong>
      </span>
      {counts}
      <span>
        <IconButton
          label={t("rules.moveUp", { number })}
          disabled={number === 1}
          onClick={(event) => move(event, -1)}
        >
          <ArrowUp aria-hidden />
        </IconButton>
        <IconButton
          label={t("rules.moveDown", { number })}
          disabled={isLast}
          onClick={(event) => move(event, 1)}
        >
          <ArrowDown aria-hidden />
        </IconButton>
        <IconButton label={t("rules.removeRule", { number })} onClick={onRemove}>
          <Trash2 aria-hidden />
        </IconButton>
      </span>
    </header>
  );
}
