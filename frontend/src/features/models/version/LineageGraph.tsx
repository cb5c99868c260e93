import { Link } from "@tanstack/react-router";
import { Fragment, type ReactElement } from "react";
import { connections, type LineageNode } from "./lineage";
import styles from "./lineage.module.css";

/** The lineage graph: dataset → run → version → evaluations, stacked on a phone. */
export function LineageGraph({ columns }: { columns: readonly (readonly LineageNode[])[] }): ReactElement {
  const numRows = Math.max(...columns.map(({ length }) => length));
  return (
    <div className={styles.graph} role="group" aria-label="Lineage">
      {columns.map((nodes, index) => (
        <Fragment key={index}>
          {index === 0 ? null : (
            <Lines numLeft={columns[index - 1]?.length ?? 0} numRight={nodes.length} numRows={numRows} />
          )}
          <ul className={styles.column}>
            {nodes.map((node) => (
              <li key={`${node.kind} ${node.id}`} className={styles.node} data-kind={node.kind}>
                <NodeName node={node} />
                <small>{node.detail}</small>
              </li>
            ))}
          </ul>
        </Fragment>
      ))}
    </div>
  );
}

function Lines({ numLeft, numRight, numRows }: { numLeft: number; numRight: number; numRows: number }): ReactElement {
  return (
    <svg className={styles.lines} aria-hidden="true" viewBox={`0 0 1 ${numRows}`} preserveAspectRatio="none">
      {connections(numLeft, numRight, numRows).map(([left, right]) => (
        <path
          key={`${left} ${right}`}
          d={`M 0 ${left} C 0.5 ${left} 0.5 ${right} 1 ${right}`}
          vectorEffect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

function NodeName({ node }: { node: LineageNode }): ReactElement {
  const { kind, id, label } = node;
  if (kind === "dataset")
    return (
      <Link to="/datasets/$datasetKey" params={{ datasetKey: id }} title={label}>
        {label}
      </Link>
    );
  if (kind === "run")
    return (
      <Link to="/runs/$runId" params={{ runId: id }} title={label}>
        {label}
      </Link>
    );
  if (kind === "evaluation")
    return (
      <Link to="/evaluations/$evaluationId" params={{ evaluationId: id }} title={label}>
        {label}
      </Link>
    );
  if (kind === "parent")
    return (
      <Link to="/models/$model" params={{ model: id.split(":")[0] ?? id }} title={label}>
        {label}
      </Link>
    );
  return <span title={label}>{label}</span>;
}
