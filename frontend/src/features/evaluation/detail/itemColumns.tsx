import { Link } from "@tanstack/react-router";
import { VerdictBadge } from "../shared/VerdictBadge";
import type { Column } from "../../../ui/tables/columns";
import { UNKNOWN } from "../../../ui/display/format";
import styles from "../evaluations.module.css";
import type { ItemFilters } from "../filters";
import type { Row } from "./ItemBrowser";
import { tokensText } from "../tokens";

/** The columns of the items. Links keep the filters, so that the item screen can navigate the list. */
export function itemColumns(evaluationId: string, filters: ItemFilters): Column<Row>[] {
  return [
    {
      key: "verdict",
      header: "Verdict",
      width: "7.5rem",
      cell: ({ judgement }) => <VerdictBadge verdict={judgement.verdict} />,
    },
    {
      key: "item",
      header: "Item",
      width: "minmax(8rem, 1fr)",
      cell: ({ item_id: itemId, at, sample }) => (
        <Link
          to="/evaluations/$evaluationId/items/$itemId"
          params={{ evaluationId, itemId }}
          search={{ ...filters, at }}
        >
          {itemId}
          {sample ? ` · sample ${sample + 1}` : null}
        </Link>
      ),
    },
    {
      key: "prompt",
      header: "Question",
      width: "minmax(10rem, 3fr)",
      cell: ({ prompt }) => <TruncatedText text={prompt} />,
    },
    {
      key: "answer",
      header: "Answer",
      width: "7rem",
      cell: ({ judgement }) => <TruncatedText text={judgement.answer ?? UNKNOWN} />,
    },
    {
      key: "expected",
      header: "Expected",
      width: "7rem",
      isSecondary: true,
      cell: ({ expected_answer }) => <TruncatedText text={expected_answer} />,
    },
    {
      key: "rule",
      header: "Extracted by",
      width: "7rem",
      isSecondary: true,
      cell: ({ judgement }) => judgement.rule ?? UNKNOWN,
    },
    {
      key: "tokens",
      header: "Tokens",
      width: "5rem",
      align: "end",
      isSecondary: true,
      cell: ({ generation }) => tokensText(generation.num_new_tokens),
    },
  ];
}

function TruncatedText({ text }: { text: string }) {
  return (
    <span className={styles.cut} title={text}>
      {text}
    </span>
  );
}
