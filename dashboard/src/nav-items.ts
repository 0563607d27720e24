/** The pages of an account, as the navigation and the palette list them. */
import {
  Activity,
  ChartSpline,
  FileChartColumn,
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
import type { TextKey } from "./languages/translate.ts";

/** `path` is relative to the account and mode. */
export type NavItem = { path: string; name: TextKey; icon: ComponentType<{ "aria-hidden": true }> };

export const MAIN_ITEMS: readonly NavItem[] = [
  { path: "/links", name: "shell.pages.links", icon: Link2 },
  { path: "/analytics", name: "shell.pages.analytics", icon: ChartSpline },
  { path: "/live", name: "shell.pages.live", icon: Radio },
  { path: "/tags", name: "shell.pages.tags", icon: Tags },
  { path: "/reports", name: "shell.pages.reports", icon: FileChartColumn },
  { path: "/domains", name: "shell.pages.domains", icon: Globe },
  { path: "/usage", name: "shell.pages.usage", icon: Gauge },
];

/** The pages of settings that a role may see. */
export const settingsItems = (role: Role): NavItem[] => [
  ...(role === "owner" ? OWNER_ITEMS : []),
  ...(role === "viewer" ? [] : WRITER_ITEMS),
  { path: "/settings/profile", name: "shell.pages.profile", icon: UserRound },
];

const OWNER_ITEMS: readonly NavItem[] = [
  { path: "/activity", name: "shell.pages.activity", icon: Activity },
  { path: "/settings/keys", name: "shell.pages.keys", icon: KeyRound },
];

const WRITER_ITEMS: readonly NavItem[] = [
  { path: "/webhooks", name: "shell.pages.webhooks", icon: Webhook },
  { path: "/settings/members", name: "shell.pages.members", icon: UsersRound },
  { path: "/settings/branding", name: "shell.pages.branding", icon: Palette },
];
