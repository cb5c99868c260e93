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

/** The model card, as the Hugging Face hub shows it. */
export function CardTab({ version }: { version: VersionDetail }): ReactElement {
  const card = useQuery(cardQuery(version.id));
  const [isSource, setSource] = useState(false);
  if (card.isPending) return <Loading what="Writing the card…" />;
  if (card.isError)
    return <ErrorNotice error={card.error} title="The card could not be read" onRetry={() => void card.refetch()} />;
  return (
    <>
      <p>Made from what the registry knows; it lies in every download and export as README.md.</p>
      <div className={styles.row}>
        <Button
          onClick={() => {
            void copyText(card.data, "the model card");
          }}
        >
          Copy the card
        </Button>
        <Checkbox label="As Markdown, with its header" isChecked={isSource} onChange={setSource} />
      </div>
      {isSource ? <pre className={styles.text}>{card.data}</pre> : <Markdown name="Model card" text={card.data} />}
    </>
  );
}
