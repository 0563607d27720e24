/** The pages of an account, as the navigation and the palette list them. */
import {
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
} from "lucide-react";
import type { ComponentType } from "react";

import type { Role } from "../../shared/contracts/users.ts";

/** `path` is relative to the account and mode. */
export type NavItem = { path: string; name: string; icon: ComponentType<{ "aria-hidden": true }> };

export const MAIN_ITEMS: readonly NavItem[] = [
  { path: "/links", name: "Links", icon: Link2 },
  { path: "/analytics", name: "Analytics", icon: ChartSpline },
  { path: "/live", name: "Live", icon: Radio },
  { path: "/tags", name: "Tags", icon: Tags },
  { path: "/domains", name: "Domains", icon: Globe },
  { path: "/usage", name: "Usage", icon: Gauge },
];

const KEYS: NavItem = { path: "/settings/keys", name: "API keys", icon: KeyRound };
const MEMBERS: NavItem = { path: "/settings/members", name: "Members", icon: UsersRound };
const BRANDING: NavItem = { path: "/settings/branding", name: "Branding", icon: Palette };
const PROFILE: NavItem = { path: "/settings/profile", name: "Profile", icon: UserRound };

/** The pages of settings that a role may see. */
export const settingsItems = (role: Role): NavItem[] => [
  ...(role === "owner" ? [KEYS] : []),
  ...(role === "viewer" ? [] : [MEMBERS, BRANDING]),
  PROFILE,
];
