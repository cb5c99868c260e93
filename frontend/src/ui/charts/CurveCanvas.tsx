import { type ReactElement, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useIsDark } from "../hooks/useTheme";
import { aligned, type Series, seriesColour, seriesDash, smoothed } from "./series";

export interface CurveCanvasProps {
  series: readonly Series[];
  smoothing: number;
  isLog: boolean;
  xLabel: string;
  yLabel: string;
  height: number;
  /** Changes to reset the zoom. */
  resetKey: number;
}

const MANY_SERIES = 12;
// The library declares an enum that it does not ship.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
const LOGARITHMIC = 3 as uPlot.Scale.Distr.Logarithmic;

/** The curves on a canvas, loaded only when a chart is shown. Drag to zoom, double-click to reset. */
export function CurveCanvas(props: CurveCanvasProps): ReactElement {
  const { series, smoothing, isLog, xLabel, yLabel, height, resetKey } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = useIsDark();
  const names = series.map(({ name }) => name).join("\n");
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const size = { width: Math.max(element.clientWidth, 200), height };
    const result = new uPlot(
      options(element, names.split("\n"), { ...size, isLog, xLabel, yLabel }),
      undefined,
      element,
    );
    const observer = new ResizeObserver(() => {
      result.setSize({ width: Math.max(element.clientWidth, 200), height });
    });
    observer.observe(element);
    plot.current = result;
    return () => {
      observer.disconnect();
      result.destroy();
      plot.current = null;
    };
    // A canvas cannot use CSS variables: it takes the theme's colours when it is created.
  }, [names, isLog, xLabel, yLabel, height, isDark, resetKey]);
  useEffect(() => {
    const curves = series.map((one) => ({ ...one, ys: smoothed(one.ys, smoothing) }));
    plot.current?.setData(aligned(curves) as uPlot.AlignedData, !isZoomed(plot.current));
  }, [series, smoothing, names, isLog, xLabel, yLabel, height, isDark, resetKey]);
  return <div ref={host} />;
}

interface Shape {
  width: number;
  height: number;
  isLog: boolean;
  xLabel: string;
  yLabel: string;
}

function options(host: HTMLElement, names: string[], shape: Shape): uPlot.Options {
  const axis = {
    stroke: resolvedColour(host, "var(--ink-muted)"),
    grid: { stroke: resolvedColour(host, "var(--line)"), width: 1 },
    ticks: { stroke: resolvedColour(host, "var(--line)"), width: 1 },
  };
  const curves = names.map((label, index) => ({
    label,
    stroke: resolvedColour(host, seriesColour(index)),
    dash: seriesDash(index),
    width: names.length > MANY_SERIES ? 1 : 2,
    spanGaps: true,
    points: { show: false },
  }));
  return {
    width: shape.width,
    height: shape.height,
    legend: { show: names.length <= MANY_SERIES, live: true },
    cursor: { focus: { prox: 24 } },
    focus: { alpha: 0.25 },
    scales: { x: { time: false }, y: shape.isLog ? { distr: LOGARITHMIC } : {} },
    series: [{ label: shape.xLabel }, ...curves],
    axes: [
      { ...axis, label: shape.xLabel },
      { ...axis, label: shape.yLabel, size: 64 },
    ],
  };
}

/** Resolves a CSS colour, including variables. */
function resolvedColour(host: HTMLElement, colour: string): string {
  host.style.color = colour;
  const computed = getComputedStyle(host).color;
  host.style.color = "";
  return computed;
}

function isZoomed(plot: uPlot): boolean {
  const xs = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  if (min == null || max == null || xs.length === 0) return false;
  return min > (xs[0] ?? min) || max < (xs.at(-1) ?? max);
}
