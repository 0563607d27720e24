/** Routes. All pages except links and sign-in are loaded when first opened. */
import { type ReactNode, Suspense } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";

import type { Session } from "../../shared/contracts/user-responses.ts";
import { AccountReactContext, useSession } from "./data/session.ts";
import { t } from "./languages/translate.ts";
import { LinksPage } from "./pages/links/page.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { Shell } from "./shell.tsx";
import { Logo } from "./ui/page.tsx";
import { Empty, ErrorState, lazyPart, Loading } from "./ui/states.tsx";

// Pages that share most of their code are one script: each then needs few requests.
// `startup/page-needs.ts` names the modules as well.
const loadAdministration = () => import("./pages/administration.ts");
const loadStatistics = () => import("./pages/statistics.ts");
const loadImport = () => import("./pages/links/import/import-page.tsx");
const loadRules = () => import("./pages/rules/rules-page.tsx");

const AccountAnalytics = lazyPart(loadStatistics, (part) => part.AccountAnalyticsPage);
const PropertyAnalytics = lazyPart(loadStatistics, (part) => part.PropertyAnalyticsPage);
const LinkAnalytics = lazyPart(loadStatistics, (part) => part.LinkAnalyticsPage);
const Live = lazyPart(loadStatistics, (part) => part.LivePage);
const Tags = lazyPart(loadStatistics, (part) => part.TagsPage);
const Rules = lazyPart(loadRules, (part) => part.RulesPage);
const Import = lazyPart(loadImport, (part) => part.ImportPage);
const Domains = lazyPart(loadAdministration, (part) => part.DomainsPage);
const Usage = lazyPart(loadAdministration, (part) => part.UsagePage);
const Activity = lazyPart(loadAdministration, (part) => part.ActivityPage);
const Reports = lazyPart(loadAdministration, (part) => part.ReportsPage);
const Webhooks = lazyPart(loadAdministration, (part) => part.WebhooksPage);
const Deliveries = lazyPart(loadAdministration, (part) => part.DeliveriesPage);
const Keys = lazyPart(loadAdministration, (part) => part.KeysPage);
const Members = lazyPart(loadAdministration, (part) => part.MembersPage);
const Branding = lazyPart(loadAdministration, (part) => part.BrandingPage);
const Profile = lazyPart(loadAdministration, (part) => part.ProfilePage);
const ForgotPassword = lazyPart(loadAdministration, (part) => part.ForgotPasswordPage);
const ResetPassword = lazyPart(loadAdministration, (part) => part.ResetPasswordPage);
const NeededFactor = lazyPart(loadAdministration, (part) => part.NeededFactorPage);
const Invitation = lazyPart(loadAdministration, (part) => part.InvitationPage);

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
  if (account.needs_second_factor) return <NeededFactor account={account.name} />;
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
