/** Layout around every page: account switcher, navigation, theme and sign-out. */
import { FlaskConical, Menu, Search, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import { CommandsProvider } from "./commands/commands.tsx";
import { useCommands } from "./data/commands.ts";
import { useAccountContext } from "./data/session.ts";
import { t } from "./languages/translate.ts";
import { MAIN_ITEMS, type NavItem, settingsItems } from "./nav-items.ts";
import { applyTheme, readTheme, THEMES } from "./preferences.ts";
import { Button, IconButton, SegmentedControl, SignOutButton } from "./ui/button.tsx";
import { Select } from "./ui/field.tsx";
import { Logo } from "./ui/page.tsx";

/** The frame, with the commands available on every page. */
export const Shell = ({ children }: { children: ReactNode }) => (
  <CommandsProvider>
    <Frame>{children}</Frame>
  </CommandsProvider>
);

function Frame({ children }: { children: ReactNode }) {
  const { mode, account } = useAccountContext();
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const previousLocation = useRef(location);
  useEffect(() => {
    if (previousLocation.current === location) return;
    // Screen readers start at the beginning of the new page.
    previousLocation.current = location;
    setOpen(false);
    main.current?.focus();
  }, [location]);
  useEffect(() => keepFocus(() => main.current), []);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {t("shell.skip")}
      </a>
      <header className="topbar">
        <Logo />
        <IconButton
          label={open ? t("shell.closeMenu") : t("shell.openMenu")}
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
        <AccountSwitcher />
        <PaletteButton />
        <nav aria-label={t("shell.navigation")}>
          {MAIN_ITEMS.map((item) => (
            <NavLink key={item.path} {...item} />
          ))}
          <h2 className="nav-heading">{t("shell.settings")}</h2>
          {settingsItems(account.role).map((item) => (
            <NavLink key={item.path} {...item} />
          ))}
        </nav>
        <SidebarFooter />
      </aside>
      <main id="main" ref={main} tabIndex={-1}>
        {mode === "test" && (
          <p className="test-banner">
            <FlaskConical aria-hidden /> {t("shell.testBanner")}
          </p>
        )}
        {children}
      </main>
    </div>
  );
}

function PaletteButton() {
  const { openPalette } = useCommands();
  return (
    <Button className="palette-button" aria-keyshortcuts="Control+K" onClick={openPalette}>
      <Search aria-hidden />
      {t("shell.commands")}
      <kbd aria-hidden>{t("shell.paletteKeys")}</kbd>
    </Button>
  );
}

function NavLink({ path, name, icon: Icon }: NavItem) {
  const [location] = useLocation();
  const active = location === path || location.startsWith(`${path}/`);
  return (
    <Link href={path} className="nav-link" {...(active ? { "aria-current": "page" } : {})}>
      <Icon aria-hidden />
      {t(name)}
    </Link>
  );
}

function AccountSwitcher() {
  const { session, account, mode } = useAccountContext();
  const [, navigate] = useLocation();
  // "~" makes the path absolute; paths here are relative to the account and mode.
  const goTo = (id: string, mode: string) => navigate(`~/${id}/${mode}/links`);
  return (
    <div className="account-choice">
      <Select
        aria-label={t("shell.account")}
        value={account.id}
        options={session.accounts.map(({ id, name }) => ({ value: id, label: name }))}
        onChoose={(id) => goTo(id, mode)}
      />
      <SegmentedControl
        label={t("shell.mode")}
        isSmall={false}
        options={{ live: t("shell.live"), test: t("shell.test") }}
        selected={mode}
        onSelect={(option) => goTo(account.id, option)}
      />
    </div>
  );
}

function SidebarFooter() {
  const { session } = useAccountContext();
  const [theme, setTheme] = useState(readTheme);
  return (
    <footer className="sidebar-foot">
      <Select
        aria-label={t("shell.theme")}
        value={theme}
        options={THEMES.map((value) => ({ value, label: t(`commands.themes.${value}`) }))}
        onChoose={(chosen) => {
          applyTheme(chosen);
          setTheme(chosen);
        }}
      />
      <div className="user">
        <span title={session.user.email}>{session.user.email}</span>
        <SignOutButton />
      </div>
    </footer>
  );
}

/**
 * Watches the document. When the focused element is removed, its closest focusable ancestor gets
 * the focus, or `fallback`. Returns a function that ends the watch.
 */
function keepFocus(fallback: () => HTMLElement | null): () => void {
  /** The focused element and its ancestors, innermost first. */
  let path: Element[] = [];
  const remember = ({ target }: FocusEvent): void => {
    path = [];
    for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) {
      path.push(at);
    }
  };
  const observer = new MutationObserver(() => {
    if (path[0] === undefined || path[0].isConnected) return;
    if (document.activeElement !== null && document.activeElement !== document.body) return;
    const heir = path.find((element) => element.isConnected && element.hasAttribute("tabindex"));
    path = [];
    (heir instanceof HTMLElement ? heir : fallback())?.focus();
  });
  document.addEventListener("focusin", remember);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", remember);
    observer.disconnect();
  };
}
