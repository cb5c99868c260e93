import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { sessionQuery, signOut } from "../../api/session";
import { classes } from "../../ui/classes";
import { Button } from "../../ui/forms/Button";
import { type Theme, THEMES, useTheme } from "../../ui/hooks/useTheme";
import styles from "./Shell.module.css";

interface TopBarProps {
  isMenuOpen: boolean;
  onMenu: (isOpen: boolean) => void;
  onPalette: () => void;
  onHelp: () => void;
}

export function TopBar({ isMenuOpen, onMenu, onPalette, onHelp }: TopBarProps): ReactElement {
  return (
    <header className={styles.top}>
      <Button
        kind="quiet"
        className={styles.menu}
        aria-label="Screens"
        aria-expanded={isMenuOpen}
        aria-controls="navigation"
        onClick={() => {
          onMenu(!isMenuOpen);
        }}
      >
        ☰
      </Button>
      <Link to="/" className={styles.brand}>
        <img src="/favicon.svg" alt="" className={styles.mark} />
        <span className={styles.name}>Tunix RT</span>
      </Link>
      <Button aria-label="Search or run a command" aria-keyshortcuts="Control+K Meta+K" onClick={onPalette}>
        Search <kbd className={styles.wide}>Ctrl K</kbd>
      </Button>
      <ThemeButton />
      <Button kind="quiet" className={classes(styles.wide)} aria-label="Keyboard shortcuts" onClick={onHelp}>
        ?
      </Button>
      <SignOutButton />
    </header>
  );
}

const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

/** A button that cycles through the system, light and dark themes. */
function ThemeButton(): ReactElement {
  const [theme, setTheme] = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <Button
      kind="quiet"
      aria-label={`Theme: ${theme}. Change to ${next}.`}
      title={`Theme: ${theme}`}
      onClick={() => {
        setTheme(next);
      }}
    >
      <span aria-hidden="true">{SIGNS[theme]}</span>
    </Button>
  );
}

/** A sign-out button, shown when an access token is in use. */
function SignOutButton(): ReactElement | null {
  const session = useQuery(sessionQuery);
  const queryClient = useQueryClient();
  const name = session.data?.token_name;
  if (name === undefined || name === null) return null;
  const onSignOut = async (): Promise<void> => {
    await signOut();
    await queryClient.resetQueries();
  };
  return (
    <Button kind="quiet" onClick={() => void onSignOut()} title={`Signed in with the token ${name}`}>
      Sign out
    </Button>
  );
}
