import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatAgo, formatNumber, formatTime } from "../../../ui/display/format";
import { KeyValueList } from "../parts/KeyValueList";

/** Keys of `meta` that other cards already show. */
const SHOWN_ELSEWHERE = ["revision_of", "revision_root", "step_verdicts"];

/** The metadata of a trace, including `meta`. Each value links to the traces that share it. */
export function TraceMetadata({ trace }: { trace: TraceDetail }): ReactElement {
  const own = Object.entries(trace.payload.meta ?? {}).filter(([name]) => !SHOWN_ELSEWHERE.includes(name));
  const facts: Record<string, ReactNode> = {
    Id: <code>{trace.id}</code>,
    Created: <time title={formatTime(trace.created_at)}>{formatAgo(trace.created_at)}</time>,
    Steps: formatNumber(trace.payload.steps.length),
    ...Object.fromEntries(own.map(([name, value]) => [name, <MetaValue key={name} name={name} value={value} />])),
  };
  return (
    <Card title="Details">
      <KeyValueList entries={facts} />
    </Card>
  );
}

function MetaValue({ name, value }: { name: string; value: unknown }): ReactElement {
  if (Array.isArray(value)) {
    return (
      <>
        {value.map((item: unknown, index) => (
          <span key={index}>
            {index === 0 ? null : ", "}
            <MetaValue name={name} value={item} />
          </span>
        ))}
      </>
    );
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    return <code>{JSON.stringify(value)}</code>;
  }
  return (
    <Link to="/traces" search={{ meta: [`${name}=${value}`] }}>
      {String(value)}
    </Link>
  );
}
