import type { ReactElement } from "react";
import { formatTime } from "../../../ui/display/format";
import { eventsInOrder, type LiveRun, type RunEventLine } from "./live";
import styles from "./run.module.css";

/** What the queue, its workers and the engine did, in order. */
export function RunEvents({ live }: { live: LiveRun }): ReactElement {
  const events = eventsInOrder(live.events);
  if (events.length === 0) return <p>Nothing has happened yet.</p>;
  return (
    <div className={styles.scroller}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">In words</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <EventRow key={`${event.source}-${event.sequence}`} event={event} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EventRow({ event }: { event: RunEventLine }): ReactElement {
  return (
    <tr>
      <td>
        <time dateTime={event.time} title={formatTime(event.time)}>
          {new Date(event.time).toLocaleTimeString("en-GB")}
        </time>
      </td>
      <td>{event.source}</td>
      <td>{event.kind}</td>
      <td>{event.message}</td>
    </tr>
  );
}
