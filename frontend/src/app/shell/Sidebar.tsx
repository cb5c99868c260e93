import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { PlaceIcon } from "./NavIcon";
import { type Place, PLACES } from "./navItems";
import styles from "./Shell.module.css";

const GROUPS = [...new Set(PLACES.map(({ group }) => group))];

export function Sidebar({ isOpen }: { isOpen: boolean }): ReactElement {
  return (
    <nav id="places" aria-label="Screens" className={styles.side} data-open={isOpen}>
      {GROUPS.map((group) => (
        <section key={group} aria-label={group || "Start"}>
          {group === "" ? null : <h2>{group}</h2>}
          <ul>
            {PLACES.filter((place) => place.group === group).map((place) => (
              <PlaceLink key={place.to} place={place} />
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function PlaceLink({ place }: { place: Place }): ReactElement {
  return (
    <li>
      <Link to={place.to} className={styles.place} activeOptions={{ exact: place.to === "/", includeSearch: false }}>
        <PlaceIcon to={place.to} />
        {place.label}
        <kbd className={styles.keys} aria-hidden="true">
          g {place.letter}
        </kbd>
      </Link>
    </li>
  );
}
