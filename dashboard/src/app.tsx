/** Routes. All pages except links and sign-in are loaded when first opened. */
import type { ComponentType, ReactNode } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";

import type { Session } from "../../shared/contracts/user-responses.ts";
import { AccountReactContext, useSession } from "./data/session.ts";
import { t } from "./languages/translate.ts";
import { LinksPage } from "./pages/links/page.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { Shell } from "./shell.tsx";
import { Logo } from "./ui/page.tsx";
import { Empty, ErrorState, lazyPart, Loading, Script } from "./ui/states.tsx";

// Pages that share most of their code are one script: each then needs few requests.
// `startup/page-needs.ts` names the modules as well.
const administration = new Script(() => import("./pages/administration.ts"));
const statistics = new Script(() => import("./pages/statistics.ts"));
const linkImport = new Script(() => import("./pages/links/import/import-page.tsx"));
const linkRules = new Script(() => import("./pages/rules/rules-page.tsx"));

const LoadingPage = () => <Loading label={t("shell.loadingPage")} lines={8} />;

const lazyPage = <Part, Props extends object>(
  script: Script<Part>,
  componentOf: (part: Part) => ComponentType<Props>,
) => lazyPart(script, componentOf, LoadingPage);

const AccountAnalytics = lazyPage(statistics, (part) => part.AccountAnalyticsPage);
const PropertyAnalytics = lazyPage(statistics, (part) => part.PropertyAnalyticsPage);
const LinkAnalytics = lazyPage(statistics, (part) => part.LinkAnalyticsPage);
const Live = lazyPage(statistics, (part) => part.LivePage);
const Tags = lazyPage(statistics, (part) => part.TagsPage);
const Rules = lazyPage(linkRules, (part) => part.RulesPage);
const Import = lazyPage(linkImport, (part) => part.ImportPage);
const Domains = lazyPage(administration, (part) => part.DomainsPage);
const Usage = lazyPage(administration, (part) => part.UsagePage);
const Activity = lazyPage(administration, (part) => part.ActivityPage);
const Reports = lazyPage(administration, (part) => part.ReportsPage);
const Webhooks = lazyPage(administration, (part) => part.WebhooksPage);
const Deliveries = lazyPage(administration, (part) => part.DeliveriesPage);
const Keys = lazyPage(administration, (part) => part.KeysPage);
const Members = lazyPage(administration, (part) => part.MembersPage);
const Branding = lazyPage(administration, (part) => part.BrandingPage);
const Profile = lazyPage(administration, (part) => part.ProfilePage);
const ForgotPassword = lazyPage(administration, (part) => part.ForgotPasswordPage);
const ResetPassword = lazyPage(administration, (part) => part.ResetPasswordPage);
const NeededFactor = lazyPage(administration, (part) => part.NeededFactorPage);
const Invitation = lazyPage(administration, (part) => part.InvitationPage);

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
    <Switch>
      <Route path="/invite/:token">
        {({ token }) => (
          <Invitation token={token} session={data?.hasEnded === false ? data.session : null} />
        )}
      </Route>
      <Route path="/forgot-password" component={ForgotPassword} />
      <Route path="/reset-password/:token">{({ token }) => <ResetPassword token={token} />}</Route>
      <Route>
        {data === null ? (
          <SignInPage key={location} />
        ) : (
          <>
            <SignedInRoutes session={data.session} />
            {data.hasEnded && <SignInPage email={data.session.user.email} covers />}
          </>
        )}
      </Route>
    </Switch>
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
