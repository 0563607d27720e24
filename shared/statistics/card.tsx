/** A titled part of a page. */
import type { ReactNode } from "react";

export const Card = ({
  title,
  actions,
  className = "",
  children,
}: {
  title?: string;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}) => (
  <section
    className={`card ${className}`}
    {...(title === undefined ? {} : { "aria-label": title })}
  >
    {title !== undefined && (
      <header className="card-head">
        <h2>{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
);
