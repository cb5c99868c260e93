import { asOneOf, searchParams } from "../../../ui/navigation/search";

const KEYS = ["curves", "log", "events", "recipe", "plan", "files"] as const;

export type RunTab = (typeof KEYS)[number];

export const RUN_TABS: readonly { key: RunTab; label: string }[] = [
  { key: "curves", label: "Curves" },
  { key: "log", label: "Log" },
  { key: "events", label: "Events" },
  { key: "recipe", label: "Recipe" },
  { key: "plan", label: "Plan" },
  { key: "files", label: "Files" },
];

/** The selected tab, as in the URL. */
export const runTabs = searchParams({ tab: asOneOf(KEYS) });

export type RunTabs = ReturnType<typeof runTabs>;
