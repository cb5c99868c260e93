/** The tabs of a version. The first is the default. */
export const VERSION_TABS = ["overview", "files", "card", "export"] as const;

export type VersionTab = (typeof VERSION_TABS)[number];
