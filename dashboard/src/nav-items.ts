/** The pages of an account, as the navigation and the palette list them. */
import {
  Activity,
  ChartSpline,
  Gauge,
  Globe,
  KeyRound,
  Link2,
  Palette,
  Radio,
  Tags,
  UserRound,
  UsersRound,
  Webhook,
} from "lucide-react";
import type { ComponentType } from "react";

import type { Role } from "../../shared/contracts/users.ts";
import type { TextKey } from "./languages/catalogues.ts";

/** `path` is relative to the account and mode. */
export type NavItem = { path: string; name: TextKey; icon: ComponentType<{ "aria-hidden": true }> };

export const MAIN_ITEMS: readonly NavItem[] = [
  { path: "/links", name: "shell.pages.links", icon: Link2 },
  { path: "/analytics", name: "shell.pages.analytics", icon: ChartSpline },
  { path: "/live", name: "shell.pages.live", icon: Radio },
  { path: "/tags", name: "shell.pages.tags", icon: Tags },
  { path: "/domains", name: "shell.pages.domains", icon: Globe },
  { path: "/usage", name: "shell.pages.usage", icon: Gauge },
];

const KEYS: NavItem = { path: "/settings/keys", name: "shell.pages.keys", icon: KeyRound };
const MEMBERS: NavItem = {
  path: "/settings/members",
  name: "shell.pages.members",
  icon: UsersRound,
};
const BRANDING: NavItem = {
  path: "/settings/branding",
  name: "shell.pages.branding",
  icon: Palette,
};
const PROFILE: NavItem = {
  path: "/settings/profile",
  name: "shell.pages.profile",
  icon: UserRound,
};

const ACTIVITY: NavItem = { path: "/activity", name: "shell.pages.activity", icon: Activity };
const WEBHOOKS: NavItem = { path: "/webhooks", name: "shell.pages.webhooks", icon: Webhook };

/** The pages of settings that a role may see. */
export const settingsItems = (role: Role): NavItem[] => [
  ...(role === "owner" ? [ACTIVITY, KEYS] : []),
  ...(role === "viewer" ? [] : [WEBHOOKS, MEMBERS, BRANDING]),
  PROFILE,
];
