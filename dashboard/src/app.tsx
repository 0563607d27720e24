/** Routes. All pages except links and sign-in are loaded when first opened. */
import { lazy, type ReactNode, Suspense } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";

import { AccountReactContext, type Session, useSession } from "./data/session.ts";
import { t } from "./languages/translate.ts";
import { LinksPage } from "./pages/links/page.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { Shell } from "./shell.tsx";
import { Logo } from "./ui/logo.tsx";
import { Empty, ErrorState, Loading } from "./ui/states.tsx";

// Pages that share most of their code are one script: each then needs few requests.
// `startup/page-modules.ts` names the modules as well.
const loadAdministration = () => import("./pages/administration.ts");
const loadStatistics = () => import("./pages/statistics.ts");
const loadImport = () => import("./pages/links/import/import-page.tsx");
const loadRules = () => import("./pages/rules/rules-page.tsx");

const AccountAnalytics = lazy(async () => ({
  default: (await loadStatistics()).AccountAnalyticsPage,
}));
const PropertyAnalytics = lazy(async () => ({
  default: (await loadStatistics()).PropertyAnalyticsPage,
}));
const LinkAnalytics = lazy(async () => ({ default: (await loadStatistics()).LinkAnalyticsPage }));
const Live = lazy(async () => ({ default: (await loadStatistics()).LivePage }));
const Tags = lazy(async () => ({ default: (await loadStatistics()).TagsPage }));
const Rules = lazy(async () => ({ default: (await loadRules()).RulesPage }));
const Import = lazy(async () => ({ default: (await loadImport()).ImportPage }));
const Domains = lazy(async () => ({ default: (await loadAdministration()).DomainsPage }));
const Usage = lazy(async () => ({ default: (await loadAdministration()).UsagePage }));
const Activity = lazy(async () => ({ default: (await loadAdministration()).ActivityPage }));
const Reports = lazy(async () => ({ default: (await loadAdministration()).ReportsPage }));
const Webhooks = lazy(async () => ({ default: (await loadAdministration()).WebhooksPage }));
const Deliveries = lazy(async () => ({ default: (await loadAdministration()).DeliveriesPage }));
const Keys = lazy(async () => ({ default: (await loadAdministration()).KeysPage }));
const Members = lazy(async () => ({ default: (await loadAdministration()).MembersPage }));
const Branding = lazy(async () => ({ default: (await loadAdministration()).BrandingPage }));
const Profile = lazy(async () => ({ default: (await loadAdministration()).ProfilePage }));
const ForgotPassword = lazy(async () => ({
  default: (await loadAdministration()).ForgotPasswordPage,
}));
const ResetPassword = lazy(async () => ({
  default: (await loadAdministration()).ResetPasswordPage,
}));
const Invitation = lazy(async () => ({ default: (await loadAdministration()).InvitationPage }));

export function App() {
  const session = useSession();
  const [location] = useLocation();
  if (session.data === undefined) {
    return (
      <StartPage>
        {session.error === null ? (
          <Loading label="Shorthop" lines={2} />
        ) : (
          <ErrorState error={session.error} onRetry={() => void session.refetch()} />
        )}
      </StartPage>
    );
  }
  const { data } = session;
  return (
    <Suspense fallback={<Loading label={t("shell.loadingPage")} />}>
      <Switch>
        <Route path="/invite/:token">
          {({ token }) => <Invitation token={token} session={data} />}
        </Route>
        <Route path="/forgot-password" component={ForgotPassword} />
        <Route path="/reset-password/:token">
          {({ token }) => <ResetPassword token={token} />}
        </Route>
        <Route>
          {data === null ? <SignInPage key={location} /> : <SignedInRoutes session={data} />}
        </Route>
      </Switch>
    </Suspense>
  );
}

/** Shown until it is known who is signed in; `index.html` has it as well. */
const StartPage = ({ children }: { children: ReactNode }) => (
  <main className="auth-page">
    <div className="start">
      <Logo />
      {children}
    </div>
  </main>
);

function SignedInRoutes({ session }: { session: Session }) {
  const first = session.accounts[0];
  if (first === undefined) {
    return (
      <main className="auth-page">
        <Empty title={t("shell.noAccount")}>
          <p>{t("shell.noAccountHint", { email: session.user.email })}</p>
        </Empty>
      </main>
    );
  }
  return (
    <Switch>
      <Route path="/:account/:mode" nest>
        {({ account, mode }) => <AccountRoutes session={session} id={account} mode={mode} />}
      </Route>
      <Route>
        <Redirect to={`/${first.id}/live/links`} replace />
      </Route>
    </Switch>
  );
}

function AccountRoutes({ session, id, mode }: { session: Session; id: string; mode: string }) {
  const account = session.accounts.find((candidate) => candidate.id === id);
  if (account === undefined || (mode !== "live" && mode !== "test")) return <NotFoundPage />;
  const scope = { account: account.id, mode } as const;
  return (
    <AccountReactContext value={{ session, account, mode, scope }}>
      {/* The key resets all state when the account or the mode changes. */}
      <Shell key={`${id}/${mode}`}>
        <Suspense fallback={<Loading label={t("shell.loadingPage")} lines={8} />}>
          <Switch>
            <Route path="/">
              <Redirect to="/links" replace />
            </Route>
            <Route path="/links" component={LinksPage} />
            <Route path="/links/import" component={Import} />
            <Route path="/links/:id/rules">{(params) => <Rules id={params.id} />}</Route>
            <Route path="/links/:id">{(params) => <LinkAnalytics id={params.id} />}</Route>
            <Route path="/analytics" component={AccountAnalytics} />
            <Route path="/live" component={Live} />
            <Route path="/tags" component={Tags} />
            <Route path="/tags/:tag">{() => <PropertyAnalytics name="tag" />}</Route>
            <Route path="/domains" component={Domains} />
            <Route path="/domains/:domain">{() => <PropertyAnalytics name="domain" />}</Route>
            <Route path="/usage" component={Usage} />
            <Route path="/activity" component={Activity} />
            <Route path="/webhooks" component={Webhooks} />
            <Route path="/webhooks/:id">{(params) => <Deliveries id={params.id} />}</Route>
            <Route path="/reports" component={Reports} />
            <Route path="/settings/keys" component={Keys} />
            <Route path="/settings/members" component={Members} />
            <Route path="/settings/branding" component={Branding} />
            <Route path="/settings/profile" component={Profile} />
            <Route component={NotFoundPage} />
          </Switch>
        </Suspense>
      </Shell>
    </AccountReactContext>
  );
}

const NotFoundPage = () => (
  <Empty title={t("shell.notFound")}>
    <p>
      <Link href="~/">{t("shell.goToLinks")}</Link>
    </p>
  </Empty>
);
