import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { NavIcon } from "./NavIcon";
import { type NavItem, NAV_ITEMS } from "./navItems";
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
