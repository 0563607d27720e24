/** What is around every page: where one is, where one can go, and who one is. */
import {
  ChartSpline,
  FlaskConical,
  Gauge,
  Globe,
  KeyRound,
  Link2,
  LogOut,
  Menu,
  UserRound,
  UsersRound,
  X,
} from "lucide-react";
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import { messageOf } from "./data/errors.ts";
import { useHere, useSignOut } from "./data/session.ts";
import { Button, IconButton } from "./ui/button.tsx";
import { Logo } from "./ui/logo.tsx";
import { applyTheme, readTheme, THEMES } from "./ui/theme.ts";
import { toast } from "./ui/toast.tsx";

type Entry = { path: string; name: string; icon: ComponentType<{ "aria-hidden": true }> };

const WORK: readonly Entry[] = [
  { path: "/links", name: "Links", icon: Link2 },
  { path: "/analytics", name: "Analytics", icon: ChartSpline },
  { path: "/domains", name: "Domains", icon: Globe },
  { path: "/usage", name: "Usage", icon: Gauge },
];

const KEYS: Entry = { path: "/settings/keys", name: "API keys", icon: KeyRound };
const MEMBERS: Entry = { path: "/settings/members", name: "Members", icon: UsersRound };
const PROFILE: Entry = { path: "/settings/profile", name: "Profile", icon: UserRound };

export function Shell({ children }: { children: ReactNode }) {
  const { mode, account } = useHere();
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(location);
  useEffect(() => {
    if (shown.current === location) return;
    // A new page is read from its beginning.
    shown.current = location;
    setOpen(false);
    main.current?.focus();
  }, [location]);
  const settings = [
    ...(account.role === "owner" ? [KEYS] : []),
    ...(account.role === "viewer" ? [] : [MEMBERS]),
    PROFILE,
  ];
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="topbar">
        <Logo />
        <IconButton
          label={open ? "Close the menu" : "Open the menu"}
          aria-expanded={open}
          aria-controls="sidebar"
          onClick={() => setOpen(!open)}
        >
          {open ? <X aria-hidden /> : <Menu aria-hidden />}
        </IconButton>
      </header>
      <aside id="sidebar" className={open ? "sidebar sidebar-open" : "sidebar"}>
        <div className="sidebar-logo">
          <Logo />
        </div>
        <AccountChoice />
        <nav aria-label="Main">
          {WORK.map((entry) => (
            <NavEntry key={entry.path} {...entry} />
          ))}
          <h2 className="nav-heading">Settings</h2>
          {settings.map((entry) => (
            <NavEntry key={entry.path} {...entry} />
          ))}
        </nav>
        <SidebarFoot />
      </aside>
      <main id="main" ref={main} tabIndex={-1}>
        {mode === "test" && (
          <p className="test-banner">
            <FlaskConical aria-hidden /> Test mode: these links and keys are apart from the live
            ones.
          </p>
        )}
        {children}
      </main>
    </div>
  );
}

function NavEntry({ path, name, icon: Icon }: Entry) {
  const [location] = useLocation();
  const active = location === path || location.startsWith(`${path}/`);
  return (
    <Link href={path} className="nav-entry" {...(active ? { "aria-current": "page" } : {})}>
      <Icon aria-hidden />
      {name}
    </Link>
  );
}

function AccountChoice() {
  const { session, account, mode } = useHere();
  const [, navigate] = useLocation();
  // "~" leaves the account that paths are within here.
  const goTo = (id: string, mode: string) => navigate(`~/${id}/${mode}/links`);
  return (
    <div className="account-choice">
      <select
        aria-label="Account"
        value={account.id}
        onChange={(event) => goTo(event.target.value, mode)}
      >
        {session.accounts.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <div className="segments" role="group" aria-label="Mode">
        {(["live", "test"] as const).map((choice) => (
          <button
            key={choice}
            type="button"
            aria-pressed={mode === choice}
            onClick={() => goTo(account.id, choice)}
          >
            {choice === "live" ? "Live" : "Test"}
          </button>
        ))}
      </div>
    </div>
  );
}

function SidebarFoot() {
  const { session } = useHere();
  const signOut = useSignOut();
  const [theme, setTheme] = useState(readTheme);
  return (
    <footer className="sidebar-foot">
      <select
        aria-label="Theme"
        value={theme}
        onChange={(event) => {
          const chosen = THEMES.find((known) => known === event.target.value) ?? "system";
          applyTheme(chosen);
          setTheme(chosen);
        }}
      >
        <option value="system">System theme</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
      <div className="who">
        <span title={session.user.email}>{session.user.email}</span>
        <Button
          look="quiet"
          onClick={() =>
            void signOut().catch((error: unknown) => toast(messageOf(error), "failed"))
          }
        >
          <LogOut aria-hidden />
          Sign out
        </Button>
      </div>
    </footer>
  );
}
