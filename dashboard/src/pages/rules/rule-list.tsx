/**
 * The rules in order: moved by dragging or by buttons, each with its conditions and destination.
 */
import { Plus } from "lucide-react";
import { type DragEvent, useState } from "react";

import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { ConditionFields } from "./condition-fields.tsx";
import { type DraftErrors, moveEntry, newCondition, newRule, type RuleDraft } from "./draft.ts";
import { RuleHead } from "./rule-head.tsx";
import type { Counts } from "./split-shares.ts";
import { RuleCounts } from "./target-counts.tsx";

type RuleListProps = {
  rules: readonly RuleDraft[];
  errors: DraftErrors;
  targets: readonly Counts[];
  onChange: (rules: readonly RuleDraft[]) => void;
};

/** Maximum rules of a link, and maximum conditions of a rule. */
const RULES_MAX = 20;
const CONDITIONS_MAX = 10;

export function RuleList({ rules, errors, targets, onChange }: RuleListProps) {
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
