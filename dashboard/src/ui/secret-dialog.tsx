/** Shows values that are displayed only once, such as a new key. */
import type { ReactNode } from "react";

import { t } from "../languages/translate.ts";
import { Button, CopyButton } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

type SecretDialogProps = {
  title: string;
  warning: string;
  /** Label of the button that closes the dialog. */
  done: string;
  onClose: () => void;
  children: ReactNode;
};

/** A dialog with secrets, which cannot be closed by accident. */
export const SecretDialog = ({ title, warning, done, onClose, children }: SecretDialogProps) => (
  <Dialog title={title} onClose={onClose} locked>
    <p className="warning">{warning}</p>
    {children}
    <footer>
      <Button variant="primary" onClick={onClose}>
        {done}
      </Button>
    </footer>
  </Dialog>
);

type SecretProps = { text: string; copyLabel: string; testId: string };

/** A text to copy. */
export const Secret = ({ text, copyLabel, testId }: SecretProps) => (
  <div className="secret">
    <code data-testid={testId}>{text}</code>
    <CopyButton text={text} label={copyLabel}>
      {t("ui.copy")}
    </CopyButton>
  </div>
);
