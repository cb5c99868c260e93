import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Finding } from "../../../api/schema.gen";
import { lintCodesQuery } from "../queries";
import { Badge } from "../../../ui/display/Badge";
import styles from "./findings.module.css";

/** The findings in one text: the meaning of each, what was found and what was expected. */
export function FindingList({ findings }: { findings: readonly Finding[] }): ReactElement | null {
  const codes = useQuery(lintCodesQuery).data?.data ?? [];
  if (findings.length === 0) return null;
  return (
    <ul className={styles.findings} aria-label="Findings">
      {findings.map((finding, index) => {
        const known = codes.find(({ code }) => code === finding.code);
        const isError = known?.severity !== "warning";
        return (
          <li key={index}>
            <Badge kind={isError ? "bad" : "warn"} sign={isError ? "✗" : "!"}>
              {finding.code}
            </Badge>
            <span>{known?.meaning}</span>
            <span>
              Found <q>{finding.found}</q>
              {finding.expected ? (
                <>
                  , expected <q>{finding.expected}</q>
                </>
              ) : null}
              .
            </span>
          </li>
        );
      })}
    </ul>
  );
}
