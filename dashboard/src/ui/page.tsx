/** Layout of pages: title, actions and cards; and of those before the sign-in. */
import { type ReactNode, useEffect } from "react";

export { Card } from "../../../shared/statistics/cards.tsx";

export function Page({
  title,
  intro,
  actions,
  children,
}: {
  title: string;
  intro?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Shorthop`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {intro !== undefined && <p className="intro">{intro}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** The page of somebody who is not signed in. */
export const AuthCard = ({ title, children }: { title: string; children: ReactNode }) => (
  <main className="auth-page">
    <div className="auth-card">
      <Logo />
      <h1>{title}</h1>
      {children}
    </div>
  </main>
);

export const Logo = () => (
  <span className="logo">
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path
        d="M7 21c2-9 7-9 9-2s7 7 9-4"
        fill="none"
        stroke="#fff"
        strokeWidth="3"
        strokeLinecap="round"
      />
      <circle cx="25" cy="13.5" r="2.6" fill="#fff" />
    </svg>
    Shorthop
  </span>
);
