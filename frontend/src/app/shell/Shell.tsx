import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { type ReactElement, useEffect, useState } from "react";
import { Toasts } from "../../ui/feedback/Toasts";
import { onShortcutKey, useShortcuts } from "../../ui/navigation/shortcuts";
import { CommandPalette } from "../palette/CommandPalette";
import { ShortcutHelp } from "../palette/ShortcutHelp";
import { SignInGate } from "../signin/SignIn";
import { NAV_ITEMS } from "./navItems";
import styles from "./Shell.module.css";
import { Sidebar } from "./Sidebar";
import { TopBar } from "./TopBar";

type Overlay = "palette" | "help" | null;

/** The layout around every screen. */
export function Shell(): ReactElement {
  const [overlay, setOverlay] = useState<Overlay>(null);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const close = (): void => {
    setOverlay(null);
  };
  useKeyboard(setOverlay);
  useCloseOnNavigation(setMenuOpen);
  return (
    <SignInGate>
      <div className={styles.shell}>
        <a className={styles.skip} href="#content">
          Skip to content
        </a>
        <TopBar
          isMenuOpen={isMenuOpen}
          onMenu={setMenuOpen}
          onPalette={() => {
            setOverlay("palette");
          }}
          onHelp={() => {
            setOverlay("help");
          }}
        />
        <Sidebar isOpen={isMenuOpen} />
        <main id="content" tabIndex={-1} className={styles.content}>
          <Outlet />
        </main>
        <CommandPalette isOpen={overlay === "palette"} onClose={close} />
        <ShortcutHelp isOpen={overlay === "help"} onClose={close} />
        <Toasts />
      </div>
    </SignInGate>
  );
}

function useKeyboard(setOverlay: (overlay: Overlay) => void): void {
  const navigate = useNavigate();
  useShortcuts([
    {
      keys: "?",
      label: "Show keyboard shortcuts",
      run: () => {
        setOverlay("help");
      },
    },
    {
      keys: "/",
      label: "Focus the search field",
      run: () => document.querySelector<HTMLInputElement>("main input[type=search]")?.focus(),
    },
    ...NAV_ITEMS.map(({ letter, label, to }) => ({
      keys: `g ${letter}`,
      label: `Go to ${label}`,
      run: () => void navigate({ to }),
    })),
  ]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isPaletteKey(event)) {
        event.preventDefault();
        setOverlay("palette");
      } else if (document.querySelector("dialog[open]") === null) onShortcutKey(event);
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
    };
  }, [setOverlay]);
}

function isPaletteKey(event: KeyboardEvent): boolean {
  return event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
}

function useCloseOnNavigation(setMenuOpen: (isOpen: boolean) => void): void {
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    setMenuOpen(false);
  }, [pathname, setMenuOpen]);
}
