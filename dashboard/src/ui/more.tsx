/** Fields that most people leave as they are: folded away, and shown when something in them is wrong. */
import { type ReactNode, useEffect, useRef } from "react";

export function More({
  title,
  wrong,
  children,
}: {
  title: string;
  wrong: boolean;
  children: ReactNode;
}) {
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // Never folded from here: that is for people to do.
    if (wrong && element.current !== null) element.current.open = true;
  }, [wrong]);
  return (
    <details ref={element}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}
