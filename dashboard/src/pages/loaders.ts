/**
 * Loads the pages that are not part of the first script. Pages that share most of their code are
 * one script: each then needs few requests. `startup/page-modules.ts` names the modules as well.
 */

export const loadAdministration = () => import("./administration.ts");
export const loadAnalytics = () => import("./analytics/pages.ts");
/** The dialogs of links, and of commands. */
export const loadDialogs = () => import("./dialogs.ts");
export const loadImport = () => import("./links/import/import-page.tsx");
export const loadMap = () => import("../../../shared/statistics/world-map.tsx");
export const loadRules = () => import("./rules/rules-page.tsx");
