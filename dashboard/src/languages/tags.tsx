/** Elements for the tags of texts. */
import type { ReactNode } from "react";

export const strong = (content: ReactNode) => <strong>{content}</strong>;

export const code = (content: ReactNode) => <code>{content}</code>;
