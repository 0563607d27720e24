/**
 * The split of the visitors that no rule matches: a bar of the shares, and the versions, each with
 * the clicks it had.
 */
import { Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { LABEL_LENGTH_MAX } from "../../../../shared/contracts/link-settings.ts";
import { t } from "../../languages/translate.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatCount, formatPercent } from "../../ui/format.ts";
import { Alert } from "../../ui/states.tsx";
import { type ArmDraft, type Draft, type DraftErrors, newArm } from "./draft.ts";

/** Maximum versions of a split, beside the link's own destination. */
const ARMS_MAX = 10;
/** Shades of the bar, which repeat. */
const COLOURS = 5;

type SplitEditorProps = {
  draft: Draft;
  /** The link's own destination, which gets the remaining share. */
  destination: string;
  errors: DraftErrors;
  targets: readonly Counts[];
  onChange: (change: Partial<Draft>) => void;
};

export function SplitEditor({ draft, destination, errors, targets, onChange }: SplitEditorProps) {
  const { arms, until } = draft;
  const rest = 100 - arms.reduce((sum, { weight }) => sum + toWeight(weight), 0);
  const armIds = new Set(arms.flatMap(({ id }) => id ?? []));
  const replace = (arm: ArmDraft, ...next: ArmDraft[]) =>
    onChange({ arms: arms.flatMap((other) => (other === arm ? next : [other])) });
  return (
    <div className="stack">
      <ShareBar arms={arms} rest={rest} />
      {errors["arms"] !== undefined && <Alert>{errors["arms"]}</Alert>}
      <ul className="versions">
        <li>
          <div className="version-head">
            <span className="version-name">{versionName(undefined, 0)}</span>
            <span>{percent(Math.max(0, rest))}</span>
            <VersionCounts targets={targets} id={undefined} armIds={armIds} />
          </div>
          <span className="destination" title={destination}>
            {destination}
          </span>
        </li>
        {arms.map((arm, i) => (
          <Version
            key={arm.key}
            arm={arm}
            position={i}
            errors={errors}
            counts={<VersionCounts targets={targets} id={arm.id ?? ""} armIds={armIds} />}
            onChange={(...next) => replace(arm, ...next)}
          />
        ))}
      </ul>
      {arms.length > 0 && (
        <TextField
          label={t("fields.until")}
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
            <Plus aria-hidden /> {t("rules.addVersion")}
          </Button>
        </div>
      )}
    </div>
  );
}

type VersionProps = {
  arm: ArmDraft;
  /** Its position among the versions that the split adds, from 0. */
  position: number;
  errors: DraftErrors;
  counts: ReactNode;
  /** Without a version, removes it. */
  onChange: (...next: ArmDraft[]) => void;
};

function Version({ arm, position, errors, counts, onChange }: VersionProps) {
  const letter = letterOf(position + 1);
  return (
    <li>
      <div className="version-head">
        <span className={`version-name ${shadeOf(position)}`}>
          {versionName(arm.label, position + 1)}
        </span>
        {counts}
      </div>
      <div className="version-fields">
        <TextField
          label={t("rules.versionLabel", { letter })}
          maxLength={LABEL_LENGTH_MAX}
          value={arm.label}
          error={errors[`arms.${position}.label`]}
          onChange={(event) => onChange({ ...arm, label: event.target.value })}
        />
        <TextField
          label={t("rules.versionShare", { letter })}
          type="number"
          min={1}
          max={99}
          value={arm.weight}
          error={errors[`arms.${position}.weight`]}
          onChange={(event) => onChange({ ...arm, weight: event.target.value })}
        />
        <TextField
          label={t("rules.versionDestination", { letter })}
          type="url"
          inputMode="url"
          value={arm.url}
          error={errors[`arms.${position}.url`]}
          onChange={(event) => onChange({ ...arm, url: event.target.value })}
        />
        <IconButton label={t("rules.removeVersion", { letter })} onClick={() => onChange()}>
          <Trash2 aria-hidden />
        </IconButton>
      </div>
    </li>
  );
}

const shadeOf = (position: number): string => `shade-${(position % COLOURS) + 1}`;

const percent = (value: number): string => t("statistics.percent", { value: formatCount(value) });

/** Without texts: a narrow part has no room for them, and the list below has them. */
const ShareBar = ({ arms, rest }: { arms: readonly ArmDraft[]; rest: number }) => (
  <div className="share-bar" aria-hidden>
    <span style={{ flexGrow: Math.max(0, rest) }} />
    {arms.map(({ key, weight }, i) => (
      <span key={key} className={shadeOf(i)} style={{ flexGrow: toWeight(weight) }} />
    ))}
  </div>
);

/** The split of a link: the shares as they are set, and the shares of the clicks it had. */
export type Counts = ResponseBody<"getLinkTargets">["data"][number];

/** The typed text may not be a number yet. */
export const toWeight = (text: string): number =>
  Math.max(0, Math.min(100, Math.floor(Number(text)) || 0));

/** The letter of a version: A for the link's own destination, then by their order. */
export const letterOf = (position: number): string => String.fromCharCode(65 + position);

/** The label of a version, or else its letter. */
export const versionName = (label: string | undefined, position: number): string =>
  label?.trim() || t("rules.version", { letter: letterOf(position) });

/**
 * Of the clicks that the split has decided, the percentage of one version, with one decimal: those
 * of rules are none of them, nor those of versions that the split no longer has.
 */
export function shareOfSplit(
  target: Counts,
  targets: readonly Counts[],
  armIds: ReadonlySet<string>,
): number {
  const isOfSplit = ({ kind, id }: Counts) =>
    kind === "default" || (kind === "arm" && typeof id === "string" && armIds.has(id));
  const all = targets.filter(isOfSplit).reduce((sum, { clicks }) => sum + clicks, 0);
  return all === 0 ? 0 : Math.round((target.clicks / all) * 1_000) / 10;
}

type TargetsProps = { targets: readonly Counts[]; id: string | undefined };

/** The clicks of a saved rule, and their share of all clicks of the link. */
export const RuleCounts = ({ targets, id }: TargetsProps) => {
  const counts = targets.find((target) => target.kind === "rule" && target.id === id);
  return (
    counts !== undefined && (
      <span className="target-counts">
        {t("rules.counts", {
          clicks: counts.clicks,
          percent: formatPercent(counts.percentage),
          unique: counts.unique_clicks,
        })}
      </span>
    )
  );
};

/** The clicks of a saved version, and their share of the split; without id, of the link's own. */
const VersionCounts = ({ targets, id, armIds }: TargetsProps & { armIds: ReadonlySet<string> }) => {
  const counts = targets.find(({ kind, id: other }) =>
    id === undefined ? kind === "default" : kind === "arm" && other === id,
  );
  if (counts === undefined) return null;
  return (
    <span className="target-counts">
      {t("rules.versionCounts", {
        clicks: counts.clicks,
        percent: formatPercent(shareOfSplit(counts, targets, armIds)),
        unique: counts.unique_clicks,
      })}
    </span>
  );
};
