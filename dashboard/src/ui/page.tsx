/** Layout of pages: title, actions and cards; and of those before the sign-in. */
import { type ReactNode, useEffect } from "react";

import { Logo } from "./logo.tsx";

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
