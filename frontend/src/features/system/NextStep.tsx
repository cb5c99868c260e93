import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../ui/copy/Command";
import { buttonClass } from "../../ui/forms/Button";
import styles from "./home.module.css";
import type { Step } from "./nextSteps";

/** The next step as a button and a command. */
export function NextStep({ step }: { step: Step }): ReactElement {
  return (
    <section className={styles.next} aria-label="Next step">
      <p className={styles.overline}>Next step</p>
      <h2>{step.title}</h2>
      <p>{step.why}</p>
      <div className={styles.actions}>
        <Link to={step.to} className={buttonClass("primary")}>
          {step.label}
        </Link>
        <span>or run</span>
        <Command>{step.command}</Command>
      </div>
    </section>
  );
}
