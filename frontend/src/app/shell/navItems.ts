/** The screens in the navigation and the palette. `g` and the letter opens a screen. */
export const NAV_ITEMS = [
  { to: "/", label: "Home", group: "", letter: "h" },
  { to: "/traces", label: "Traces", group: "Data", letter: "t" },
  { to: "/datasets", label: "Datasets", group: "Data", letter: "d" },
  { to: "/launch", label: "Plan & launch", group: "Training", letter: "p" },
  { to: "/runs", label: "Runs", group: "Training", letter: "r" },
  { to: "/compare", label: "Compare", group: "Training", letter: "c" },
  { to: "/tuning", label: "Tuning", group: "Training", letter: "u" },
  { to: "/evaluations", label: "Evaluations", group: "Evaluation", letter: "e" },
  { to: "/leaderboard", label: "Leaderboard", group: "Evaluation", letter: "l" },
  { to: "/gates", label: "Gates", group: "Evaluation", letter: "a" },
  { to: "/models", label: "Models", group: "Results", letter: "m" },
  { to: "/chat", label: "Chat", group: "Results", letter: "b" },
  { to: "/evidence", label: "Evidence", group: "Results", letter: "v" },
] as const;

export type NavItem = (typeof NAV_ITEMS)[number];
