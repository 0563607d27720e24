/** One script with the pages that administer an account, and those that bring somebody into it. */
export { DomainsPage } from "./domains/page.tsx";
export { ActivityPage } from "./activity/activity-page.tsx";
export { ForgotPasswordPage, InvitationPage, ResetPasswordPage } from "./invitation.tsx";
export { ReportsPage } from "./reports/reports-page.tsx";
export { BrandingPage } from "./settings/branding.tsx";
export { KeysPage } from "./settings/keys.tsx";
export { MembersPage } from "./settings/members.tsx";
export { ProfilePage } from "./settings/profile.tsx";
export { NeededFactorPage } from "./settings/sign-in-methods.tsx";
export { UsagePage } from "./usage.tsx";
export { DeliveriesPage, WebhooksPage } from "./webhooks/webhooks-page.tsx";
