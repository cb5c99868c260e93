import type { ReactElement } from "react";
import { PlainTable } from "../tables/PlainTable";
import { type Block, blocksOf, inlinesOf } from "./markdownBlocks";
import styles from "./Markdown.module.css";

interface MarkdownProps {
  text: string;
  /** The name of the document, used to label its tables. */
  name: string;
}

/** Renders Markdown as React elements. HTML in the text is shown as plain text. */
export function Markdown({ text, name }: MarkdownProps): ReactElement {
  return (
    <div className={styles.markdown}>
      {blocksOf(text).map((block, index) => (
        <BlockView key={index} block={block} name={`${name}: table ${index}`} />
      ))}
    </div>
  );
}

function BlockView({ block, name }: { block: Block; name: string }): ReactElement {
  switch (block.kind) {
    case "heading":
      return <Heading level={block.level} text={block.text} />;
    case "paragraph":
      return (
        <p>
          <Line text={block.text} />
        </p>
      );
    case "list":
      return (
        <ul>
          {block.items.map((item, index) => (
            <li key={index}>
              <Line text={item} />
            </li>
          ))}
        </ul>
      );
    case "code":
      return <pre className={styles.code}>{block.text}</pre>;
    case "table":
      return (
        <PlainTable
          name={name}
          columns={block.head.map((header) => ({ header }))}
          rows={block.rows.map((cells, row) => ({
            key: String(row),
            cells: cells.map((cell, index) => <Line key={index} text={cell} />),
          }))}
        />
      );
  }
}

/** Headings start one level lower, because the page has the first heading. */
function Heading({ level, text }: { level: number; text: string }): ReactElement {
  if (level === 1) return <h2>{text}</h2>;
  return level === 2 ? <h3>{text}</h3> : <h4>{text}</h4>;
}

function Line({ text }: { text: string }): ReactElement {
  return (
    <>
      {inlinesOf(text).map((part, index) => {
        if (part.kind === "code") return <code key={index}>{part.text}</code>;
        if (part.kind === "strong") return <strong key={index}>{part.text}</strong>;
        if (part.kind === "text") return part.text;
        return (
          <a key={index} href={part.href} target="_blank" rel="noreferrer">
            {part.text}
          </a>
        );
      })}
    </>
  );
}
