/** Collapsed optional fields. Opens when one of them has an error. */
import { type ReactNode, useEffect, useRef } from "react";

export function Disclosure({
  title,
  hasError,
  children,
}: {
  title: string;
  hasError: boolean;
  children: ReactNode;
}) {
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // Only opens automatically; the user closes it.
    if (hasError && element.current !== null) element.current.open = true;
  }, [hasError]);
  return (
    <details ref={element}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
