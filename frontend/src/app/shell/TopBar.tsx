import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { classes } from "../../ui/classes";
import { Button } from "../../ui/forms/Button";
import styles from "./Shell.module.css";
import { ThemeButton } from "./ThemeButton";
import { SignOutButton } from "./SignOutButton";

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
      <Button onClick={onPalette} aria-keyshortcuts="Control+K Meta+K">
        Search or run a command <kbd className={styles.wide}>Ctrl K</kbd>
      </Button>
      <ThemeButton />
      <Button kind="quiet" className={classes(styles.wide)} aria-label="Keyboard shortcuts" onClick={onHelp}>
        ?
      </Button>
      <SignOutButton />
    </header>
  );
}
