import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { blocksOf, inlinesOf } from "./markdownBlocks";
import { Markdown } from "./Markdown";

const CARD = `---
library_name: "transformers"
---

# sums, version 2

A model that shows its work: \`<reasoning>…\`.
It goes on.

- one
- **two**

| eval set | accuracy |
| --- | --- |
| a \\| b | 75.0% |

\`\`\`console
tunix-rt chat sums:2
\`\`\``;

test("front matter is skipped and all blocks are parsed", () => {
  expect(blocksOf(CARD)).toEqual([
    { kind: "heading", level: 1, text: "sums, version 2" },
    { kind: "paragraph", text: "A model that shows its work: `<reasoning>…`. It goes on." },
    { kind: "list", items: ["one", "**two**"] },
    { kind: "table", head: ["eval set", "accuracy"], rows: [["a | b", "75.0%"]] },
    { kind: "code", text: "tunix-rt chat sums:2" },
  ]);
});

test("an unclosed fence runs to the end", () => {
  expect(blocksOf("```\na\nb")).toEqual([{ kind: "code", text: "a\nb" }]);
});

test("only http links become links", () => {
  expect(inlinesOf("[good](https://a.b) [bad](javascript:alert)")).toEqual([
    { kind: "link", text: "good", href: "https://a.b" },
    { kind: "text", text: " [bad](javascript:alert)" },
  ]);
});

test("HTML is shown as text", () => {
  render(<Markdown name="Notes" text={"### Mind\n\n<img src=x onerror=alert(1)> and **this** [page](https://a.b)"} />);
  screen.getByText(/<img src=x onerror=alert\(1\)> and/);
  expect(document.querySelector("img")).toBeNull();
  screen.getByRole("heading", { level: 4, name: "Mind" });
  expect(screen.getByRole("link", { name: "page" }).getAttribute("href")).toBe("https://a.b");
});
