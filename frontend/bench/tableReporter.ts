import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestError, TestResult } from "@playwright/test/reporter";
import { MEASURE, type Measure } from "./measure";

const RESULTS = fileURLToPath(new URL("../../benchmarks/results/web.json", import.meta.url));

/** Prints the measurements as one table and writes them to the benchmark results. */
export default class TableReporter implements Reporter {
  private readonly measures: Measure[] = [];

  onTestEnd(test: TestCase, { annotations, errors }: TestResult): void {
    const found = annotations.filter(({ type }) => type === MEASURE);
    this.measures.push(...found.map(({ description = "" }) => JSON.parse(description) as Measure));
    if (found.length === 0) print(`${test.title}: not measured\n${errors.map(messageOf).join("\n")}`);
  }

  onEnd(): void {
    const width = Math.max(...this.measures.map(({ what }) => what.length));
    for (const { what, value, bar, unit } of this.measures) {
      const figure = `${value.toFixed(1)} ${unit}`.padStart(12);
      print(`${what.padEnd(width)} ${figure}   bar: ${bar} ${unit}   ${value <= bar ? "met" : "MISSED"}`);
    }
    const machine = { num_cpus: cpus().length, cpu: cpus()[0]?.model ?? "" };
    const results = { measured_at: new Date().toISOString(), machine, measures: this.measures };
    writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  }

  printsToStdio(): boolean {
    return true;
  }
}

function messageOf({ message = "" }: TestError): string {
  return message;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
