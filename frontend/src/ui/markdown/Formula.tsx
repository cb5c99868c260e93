import katex from "katex";
import "katex/dist/katex.min.css";
import { type ReactElement, useEffect, useRef } from "react";

/** One formula; one that KaTeX cannot read is shown as it was written. */
export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }): ReactElement {
  const host = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // Into an element and not into HTML: the page's policy refuses inline styles that come as text.
    if (host.current) katex.render(tex, host.current, { displayMode: isBlock, throwOnError: false, strict: "ignore" });
  }, [tex, isBlock]);
  return <span ref={host} />;
}
