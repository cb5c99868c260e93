import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import styles from "./Page.module.css";

interface PageProps {
  /** The name of the screen or of the thing it shows; also the title of the tab. */
  title: string;
  /** What the screen is for, in one sentence. */
  about?: string;
  /** Beside the title: state, numbers. */
  aside?: ReactNode;
  /** Buttons; the next sensible one is `primary`. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A screen: its heading, its actions and what it shows. The heading takes the focus after a navigation. */
export function Page({ title, about, aside, actions, children }: PageProps): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Tunix RT`;
  }, [title]);
  useEffect(() => {
    // The first page of a visit leaves the focus at the top, where the skip link is.
    if (hasNavigated) heading.current?.focus();
    hasNavigated = true;
  }, []);
  return (
    <article className={styles.page}>
      <header>
        <div className={styles.head}>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {aside}
          {actions === undefined ? null : <div className={styles.actions}>{actions}</div>}
        </div>
        {about === undefined ? null : <p className={styles.about}>{about}</p>}
      </header>
      {children}
    </article>
  );
}

let hasNavigated = false;
