import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { NAV_ITEMS, type NavItem } from "./navItems";
import styles from "./Shell.module.css";

const GROUPS = [...new Set(NAV_ITEMS.map(({ group }) => group))];

export function Sidebar({ isOpen }: { isOpen: boolean }): ReactElement {
  return (
    <nav id="navigation" aria-label="Screens" className={styles.side} data-open={isOpen}>
      {GROUPS.map((group) => (
        <section key={group} aria-label={group || "Start"}>
          {group === "" ? null : <h2>{group}</h2>}
          <ul>
            {NAV_ITEMS.filter((item) => item.group === group).map((item) => (
              <NavLink key={item.to} item={item} />
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function NavLink({ item }: { item: NavItem }): ReactElement {
  return (
    <li>
      <Link to={item.to} className={styles.item} activeOptions={{ exact: item.to === "/", includeSearch: false }}>
        <NavIcon to={item.to} />
        {item.label}
        <kbd className={styles.keys} aria-hidden="true">
          g {item.letter}
        </kbd>
      </Link>
    </li>
  );
}

const ICON_PATHS: Record<NavItem["to"], string> = {
  "/": "M2.5 7.5 8 3l5.5 4.5V13.5h-11zM6.5 13.5v-3.5h3v3.5",
  "/traces": "M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5",
  "/datasets":
    "M3 4c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2zv8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2",
  "/launch": "M4.5 2.5v11l8.5-5.5z",
  "/runs": "M1.5 8h3l2-5 3 10 2-5h3",
  "/compare": "M2 5h11.5l-3-3M14 11H2.5l3 3",
  "/tuning": "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M9 3h3v3H9zM4 10h3v3H4z",
  "/evaluations": "M3 3h10v10H3zM5.5 8l2 2 3.5-4",
  "/leaderboard": "M3.5 13.5v-5M8 13.5v-11M12.5 13.5v-7.5",
  "/gates": "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  "/models": "M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6",
  "/chat": "M2.5 3h11v8h-6l-3 2.5V11h-2z",
  "/evidence": "M4 2h5.5L12.5 5v9H4zM6 9l1.5 1.5L10.5 7",
};

/** The decorative icon of a screen. */
function NavIcon({ to }: { to: NavItem["to"] }): ReactElement {
  return (
    <svg className={styles.icon} viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICON_PATHS[to]} />
    </svg>
  );
}
