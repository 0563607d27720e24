/** Routes. All pages except links and sign-in are loaded when first opened. */
import { lazy, Suspense } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";

import { AccountReactContext, type Session, useSession } from "./data/session.ts";
import { t } from "./languages/translate.ts";
import { LinksPage } from "./pages/links/page.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { Shell } from "./shell.tsx";
import { Empty, ErrorState, Loading } from "./ui/states.tsx";

const AccountAnalytics = lazy(async () => {
  const { AccountAnalyticsPage } = await import("./pages/analytics/account-page.tsx");
  return { default: AccountAnalyticsPage };
});
const PropertyAnalytics = lazy(async () => {
  const { PropertyAnalyticsPage } = await import("./pages/analytics/account-page.tsx");
  return { default: PropertyAnalyticsPage };
});
const Rules = lazy(async () => {
  const { RulesPage } = await import("./pages/rules/rules-page.tsx");
  return { default: RulesPage };
});
const Live = lazy(async () => {
  const { LivePage } = await import("./pages/analytics/live-page.tsx");
  return { default: LivePage };
});
const Tags = lazy(async () => {
  const { TagsPage } = await import("./pages/tags/page.tsx");
  return { default: TagsPage };
});
const LinkAnalytics = lazy(async () => {
  const { LinkAnalyticsPage } = await import("./pages/analytics/link-page.tsx");
  return { default: LinkAnalyticsPage };
});
const Import = lazy(async () => {
  const { ImportPage } = await import("./pages/links/import/import-page.tsx");
  return { default: ImportPage };
});
const Domains = lazy(async () => {
  const { DomainsPage } = await import("./pages/domains/page.tsx");
  return { default: DomainsPage };
});
const Usage = lazy(async () => {
  const { UsagePage } = await import("./pages/usage.tsx");
  return { default: UsagePage };
});
const Webhooks = lazy(async () => {
  const { WebhooksPage } = await import("./pages/webhooks/webhooks-page.tsx");
  return { default: WebhooksPage };
});
const Deliveries = lazy(async () => {
  const { DeliveriesPage } = await import("./pages/webhooks/deliveries-page.tsx");
  return { default: DeliveriesPage };
});
const Reports = lazy(async () => {
  const { ReportsPage } = await import("./pages/reports/reports-page.tsx");
  return { default: ReportsPage };
});
const Keys = lazy(async () => {
  const { KeysPage } = await import("./pages/settings/keys.tsx");
  return { default: KeysPage };
});
const Members = lazy(async () => {
  const { MembersPage } = await import("./pages/settings/members.tsx");
  return { default: MembersPage };
});
const Branding = lazy(async () => {
  const { BrandingPage } = await import("./pages/settings/branding.tsx");
  return { default: BrandingPage };
});
const Profile = lazy(async () => {
  const { ProfilePage } = await import("./pages/settings/profile.tsx");
  return { default: ProfilePage };
});
const Invitation = lazy(async () => {
  const { InvitationPage } = await import("./pages/invitation.tsx");
  return { default: InvitationPage };
});

export function App() {
  const session = useSession();
  const [location] = useLocation();
  if (session.data === undefined) {
    return (
      <main className="auth-page">
        {session.error === null ? (
          <Loading label="Shorthop" lines={2} />
        ) : (
          <ErrorState error={session.error} onRetry={() => void session.refetch()} />
        )}
      </main>
    );
  }
  const { data } = session;
  return (
    <Suspense fallback={<Loading label={t("shell.loadingPage")} />}>
      <Switch>
        <Route path="/invite/:token">
          {({ token }) => <Invitation token={token} session={data} />}
        </Route>
        <Route>
          {data === null ? <SignInPage key={location} /> : <SignedInRoutes session={data} />}
        </Route>
      </Switch>
    </Suspense>
  );
}

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
