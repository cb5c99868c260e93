/** The screens, as the navigation, the palette and the keyboard (g, then the letter) offer them. */
export const PLACES = [
  { to: "/", label: "Home", group: "", letter: "h" },
  { to: "/traces", label: "Traces", group: "Data", letter: "t" },
  { to: "/datasets", label: "Datasets", group: "Data", letter: "d" },
  { to: "/launch", label: "Plan & launch", group: "Training", letter: "p" },
  { to: "/runs", label: "Runs", group: "Training", letter: "r" },
  { to: "/compare", label: "Compare", group: "Training", letter: "c" },
  { to: "/tuning", label: "Tuning", group: "Training", letter: "u" },
  { to: "/evaluations", label: "Evaluations", group: "Judging", letter: "e" },
  { to: "/leaderboard", label: "Leaderboard", group: "Judging", letter: "l" },
  { to: "/gates", label: "Gates", group: "Judging", letter: "a" },
  { to: "/models", label: "Models", group: "Results", letter: "m" },
  { to: "/chat", label: "Chat", group: "Results", letter: "b" },
  { to: "/evidence", label: "Evidence", group: "Results", letter: "v" },
] as const;

export type Place = (typeof PLACES)[number];
