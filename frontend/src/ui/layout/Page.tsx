import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import styles from "./Page.module.css";

interface PageProps {
  /** The name of the screen or of its subject. Also the document title. */
  title: string;
  /** What the screen is for, in one sentence. */
  about?: string;
  /** Shown beside the title, such as a status or a count. */
  aside?: ReactNode;
  /** Buttons. The most likely next action is `primary`. */
  actions?: ReactNode;
  children: ReactNode;
}

/** The layout of a screen: heading, actions and content. The heading takes the focus after navigation. */
export function Page({ title, about, aside, actions, children }: PageProps): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Tunix RT`;
  }, [title]);
  useEffect(() => {
    // On the first page the focus stays at the top, where the skip link is.
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
