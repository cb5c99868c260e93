/** The parts of a version's page; the first is shown when the URL names none. */
export const VERSION_TABS = ["overview", "files", "card", "export"] as const;

export type VersionTab = (typeof VERSION_TABS)[number];
