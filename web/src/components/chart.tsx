// SPDX-License-Identifier: Apache-2.0
// Lines over time, by uPlot, in the colours of the theme.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clock, clockLabels } from '../format';
import { dark } from '../theme';

export interface Line {
  label: string;
  // A CSS variable: '--done'.
  color: string;
  dash?: number[];
  fill?: boolean;
  // Steps rather than slopes: counts of something at a time.
  stepped?: boolean;
  values: (number | null)[];
}

export interface ChartProps {
  // What it shows, for readers of the screen, and the heading above it.
  label: string;
  // Seconds since 1970, as many as each line has values.
  times: number[];
  lines: Line[];
  format?: (value: number) => string;
  height?: number;
  // The least range of the y axis; by default from 0.
  min?: number;
  max?: number;
}

// Seconds between two times at the axis: below one they would be alike.
const kSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Chart({ label, times, lines, format = String, height = 160, min = 0, max }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = lines.map((line) => `${line.label} ${line.color}`).join();
  const data = useMemo<uPlot.AlignedData>(() => [times, ...lines.map((line) => line.values)] as uPlot.AlignedData, [times, lines]);
  const isDark = dark.value;
  // Where the pointer is; without one the legend tells the last.
  const [at, setAt] = useState<number | null>(null);
  const shown = at !== null && at < times.length ? at : times.length - 1;

  useEffect(() => {
    const element = box.current!;
    const axis: uPlot.Axis = {
      stroke: css('--dim'),
      grid: { stroke: css('--grid'), width: 1 },
      ticks: { stroke: css('--grid'), width: 1, size: 4 },
      font: '11px system-ui, sans-serif',
    };
    const options: uPlot.Options = {
      width: Math.max(200, element.clientWidth),
      height,
      // Half of the last time may stand beside the axis.
      padding: [8, 28, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      legend: { show: false },
      hooks: { setCursor: [(made) => setAt(made.cursor.idx ?? null)] },
      scales: {
        // One moment alone is in the middle of a minute, not at the beginning of a day.
        x: {
          time: true,
          range: (made, low, high) => {
            if (made.data[0].length > 1) return [low, high];
            const middle = made.data[0][0] ?? Date.now() / 1000;
            return [middle - 30, middle + 30];
          },
        },
        y: {
          range: (_, low, high) => {
            const least = Math.min(min, low ?? 0);
            const most = Math.max(max ?? -Infinity, high ?? 1);
            return [least, most > least ? most + (max !== undefined && most === max ? 0 : (most - least) * 0.08) : least + 1];
          },
        },
      },
      axes: [
        { ...axis, space: 64, size: 28, incrs: kSteps, values: (_, ticks) => clockLabels(ticks) },
        { ...axis, size: 48, space: 28, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))) },
      ],
      series: [
        {},
        ...lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: css(line.color),
          fill: line.fill ? `${css(line.color)}22` : undefined,
          width: 1.5,
          dash: line.dash,
          points: { show: false },
          paths: line.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
        })),
      ],
    };
    const made = new uPlot(options, data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: Math.max(200, element.clientWidth), height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, isDark, height, min, max]);

  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <figure class="chart">
      <figcaption>
        {label}
        {at !== null && <span class="dim num"> at {clock(times[shown] ?? 0, true)}</span>}
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={`${label}: ${lines.map((line) => `${line.label} now ${valueAt(line, times.length - 1, format)}`).join(', ')}`}
      />
      <ul class="chart-legend" aria-hidden="true">
        {lines.map((line) => (
          <li key={line.label}>
            <svg width="16" height="8" viewBox="0 0 16 8">
              <line
                x1="0"
                y1="4"
                x2="16"
                y2="4"
                style={{ stroke: `var(${line.color})` }}
                stroke-width="2"
                stroke-dasharray={line.dash?.join(' ')}
              />
            </svg>
            {line.label} <b class="num">{valueAt(line, shown, format)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function valueAt(line: Line, at: number, format: (value: number) => string): string {
  const value = line.values[at];
  return value === null || value === undefined ? '–' : format(value);
}
