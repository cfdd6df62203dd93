// Lines over time, by uPlot, in the colours of the theme.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
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

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Chart({ label, times, lines, format = String, height = 160, min = 0, max }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = lines.map((line) => `${line.label} ${line.color}`).join();
  const data = useMemo<uPlot.AlignedData>(() => [times, ...lines.map((line) => line.values)] as uPlot.AlignedData, [times, lines]);
  const isDark = dark.value;

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
      padding: [8, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      legend: { live: true },
      scales: {
        x: { time: true },
        y: { range: (_, low, high) => {
          const least = Math.min(min, low ?? 0);
          const most = Math.max(max ?? -Infinity, high ?? 1);
          return [least, most > least ? most + (max !== undefined && most === max ? 0 : (most - least) * 0.08) : least + 1];
        } },
      },
      axes: [
        { ...axis, space: 70 },
        { ...axis, size: 48, space: 28, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))) },
      ],
      series: [
        { value: (_, at) => (at === null || at === undefined ? '' : new Date(at * 1000).toLocaleTimeString()), label: 'time' },
        ...lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: css(line.color),
          fill: line.fill ? `${css(line.color)}22` : undefined,
          width: 1.5,
          dash: line.dash,
          points: { show: false },
          paths: line.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
          value: (_, value) => (value === null || value === undefined ? '' : format(value)),
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
      <figcaption>{label}</figcaption>
      <div ref={box} role="img" aria-label={`${label}: ${lines.map((line) => `${line.label} now ${lastOf(line, format)}`).join(', ')}`} />
    </figure>
  );
}

function lastOf(line: Line, format: (value: number) => string): string {
  const value = line.values[line.values.length - 1];
  return value === null || value === undefined ? 'unknown' : format(value);
}
