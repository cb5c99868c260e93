import katex from "katex";
import "katex/dist/katex.min.css";
import { type ReactElement, useEffect, useRef } from "react";

/** One formula. If KaTeX cannot parse it, the source is shown. */
export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }): ReactElement {
  const host = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // Rendered into an element, because the content security policy refuses inline styles in HTML strings.
    if (host.current) katex.render(tex, host.current, { displayMode: isBlock, throwOnError: false, strict: "ignore" });
  }, [tex, isBlock]);
  return <span ref={host} />;
}
