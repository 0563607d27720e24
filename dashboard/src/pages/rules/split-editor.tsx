/** The split of the visitors that no rule matches: a bar of the shares, and the arms. */
import { Plus, Trash2 } from "lucide-react";

import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatCount } from "../../ui/format.ts";
import { Alert } from "../../ui/states.tsx";
import { type ArmDraft, type Draft, type DraftErrors, newArm } from "./draft.ts";
import { type FindTargetCounts, TargetCounts } from "./target-counts.tsx";

/** Maximum arms of a split. */
const ARMS_MAX = 10;
/** Shades of the bar, which repeat. */
const COLOURS = 5;

type SplitEditorProps = {
  draft: Pick<Draft, "arms" | "until">;
  /** The link's own destination, which gets the remaining share. */
  destination: string;
  errors: DraftErrors;
  countsOf: FindTargetCounts;
  onChange: (change: Partial<Draft>) => void;
};

export function SplitEditor({ draft, destination, errors, countsOf, onChange }: SplitEditorProps) {
  const { arms, until } = draft;
  const rest = 100 - arms.reduce((sum, { weight }) => sum + toWeight(weight), 0);
  const replace = (arm: ArmDraft, ...next: ArmDraft[]) =>
    onChange({ arms: arms.flatMap((other) => (other === arm ? next : [other])) });
  return (
    <div className="stack">
      <ShareBar arms={arms} rest={rest} />
      {errors["arms"] !== undefined && <Alert>{errors["arms"]}</Alert>}
      <ul className="arms">
        <li className="arm-own">
          <span className="share share-own">{percent(Math.max(0, rest))}</span>
          <span className="destination" title={destination}>
            {destination}
          </span>
          <TargetCounts counts={countsOf("default", undefined)} />
        </li>
        {arms.map((arm, i) => (
          <li key={arm.key}>
            <div className="arm-fields">
              <TextField
                label={t("rules.armShare", { number: i + 1 })}
                type="number"
                min={1}
                max={99}
                value={arm.weight}
                error={errors[`arms.${i}.weight`]}
                onChange={(event) => replace(arm, { ...arm, weight: event.target.value })}
              />
              <TextField
                label={t("rules.armDestination", { number: i + 1 })}
                type="url"
                inputMode="url"
                value={arm.url}
                error={errors[`arms.${i}.url`]}
                onChange={(event) => replace(arm, { ...arm, url: event.target.value })}
              />
              <IconButton
                label={t("rules.removeArm", { number: i + 1 })}
                onClick={() => replace(arm)}
              >
                <Trash2 aria-hidden />
              </IconButton>
            </div>
            <TargetCounts counts={countsOf("arm", arm.id)} />
          </li>
        ))}
      </ul>
      {arms.length > 0 && (
        <TextField
          label={t("rules.condition.until")}
          type="datetime-local"
          hint={t("rules.untilHint")}
          value={until}
          error={errors["until"]}
          onChange={(event) => onChange({ until: event.target.value })}
        />
      )}
      {arms.length < ARMS_MAX && (
        <div>
          <Button onClick={() => onChange({ arms: [...arms, newArm()] })}>
            <Plus aria-hidden /> {t("rules.addArm")}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The typed text may not be a number yet. */
const toWeight = (text: string): number =>
  Math.max(0, Math.min(100, Math.floor(Number(text)) || 0));

/** A whole number of percent. */
const percent = (value: number): string => t("statistics.percent", { value: formatCount(value) });

const ShareBar = ({ arms, rest }: { arms: readonly ArmDraft[]; rest: number }) => (
  <div className="share-bar" aria-hidden>
    <span className="share-own" style={{ flexGrow: Math.max(0, rest) }}>
      {rest > 0 && percent(rest)}
    </span>
    {arms.map(({ key, weight }, i) => (
      <span
        key={key}
        className={`shade-${(i % COLOURS) + 1}`}
        style={{ flexGrow: toWeight(weight) }}
      >
        {percent(toWeight(weight))}
      </span>
    ))}
  </div>
);
