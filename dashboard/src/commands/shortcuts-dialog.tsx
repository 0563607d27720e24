import { useState } from "react";

import { t } from "../languages/translate.ts";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/field.tsx";
import { readSingleKeys, saveSingleKeys, SHORTCUTS } from "./shortcuts.ts";

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const [singleKeys, setSingleKeys] = useState(readSingleKeys);
  return (
    <Dialog title={t("commands.shortcuts")} onClose={onClose}>
      <dl className="shortcuts">
        {SHORTCUTS.map(({ keys, meaning }) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key === "Ctrl" ? t("commands.ctrl") : key}</kbd>
              ))}
            </dt>
            <dd>{t(meaning)}</dd>
          </div>
        ))}
      </dl>
      <CheckField
        label={t("commands.singleKeys")}
        hint={t("commands.singleKeysHint")}
        checked={singleKeys}
        onChange={({ target: { checked } }) => {
          saveSingleKeys(checked);
          setSingleKeys(checked);
        }}
      />
    </Dialog>
  );
}
