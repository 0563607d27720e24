import { useState } from "react";

import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/field.tsx";
import { readSingleKeys, saveSingleKeys, SHORTCUTS } from "./shortcuts.ts";

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const [singleKeys, setSingleKeys] = useState(readSingleKeys);
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {SHORTCUTS.map(({ keys, meaning }) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <CheckField
        label="Single keys are shortcuts"
        hint="Switch this off if you dictate, or press keys by accident."
        checked={singleKeys}
        onChange={({ target: { checked } }) => {
          saveSingleKeys(checked);
          setSingleKeys(checked);
        }}
      />
    </Dialog>
  );
}
