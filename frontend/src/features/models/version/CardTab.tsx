import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { cardQuery } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { copyText } from "../../../ui/copy/CopyAs";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Markdown } from "../../../ui/markdown/Markdown";
import styles from "../models.module.css";

/** The model card, rendered as on the Hugging Face Hub. */
export function CardTab({ version }: { version: VersionDetail }): ReactElement {
  const card = useQuery(cardQuery(version.id));
  const [isSource, setSource] = useState(false);
  if (card.isPending) return <Loading what="Loading card…" />;
  if (card.isError)
    return <ErrorNotice error={card.error} title="Could not load the card" onRetry={() => void card.refetch()} />;
  return (
    <>
      <p>Generated from the registry. Included in every download and export as README.md.</p>
      <div className={styles.row}>
        <Button
          onClick={() => {
            void copyText(card.data, "the model card");
          }}
        >
          Copy card
        </Button>
        <Checkbox label="Show Markdown source" isChecked={isSource} onChange={setSource} />
      </div>
      {isSource ? <pre className={styles.text}>{card.data}</pre> : <Markdown name="Model card" text={card.data} />}
    </>
  );
}
