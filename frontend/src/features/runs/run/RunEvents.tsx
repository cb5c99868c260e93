import type { ReactElement } from "react";
import { formatTime } from "../../../ui/display/format";
import { eventsInOrder, type LiveRun, type RunEventLine } from "./live";
import styles from "./run.module.css";

/** The events of the queue, the workers and the engine, in order. */
export function RunEvents({ live }: { live: LiveRun }): ReactElement {
  const events = eventsInOrder(live.events);
  if (events.length === 0) return <p>No events yet.</p>;
  return (
    <div className={styles.scroller}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Source</th>
            <th scope="col">Event</th>
            <th scope="col">Message</th>
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
