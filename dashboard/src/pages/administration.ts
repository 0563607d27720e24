/** The pages that administer an account, and the one that invites to it. */
export { DomainsPage } from "./domains/page.tsx";
export { ActivityPage } from "./activity/activity-page.tsx";
export { InvitationPage } from "./invitation.tsx";
export { BrandingPage } from "./settings/branding.tsx";
export { KeysPage } from "./settings/keys.tsx";
export { MembersPage } from "./settings/members.tsx";
export { ProfilePage } from "./settings/profile.tsx";
export { UsagePage } from "./usage.tsx";
export { DeliveriesPage } from "./webhooks/deliveries-page.tsx";
export { WebhooksPage } from "./webhooks/webhooks-page.tsx";
