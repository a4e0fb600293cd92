import { styleText } from "node:util";

export type Unit = "ms" | "MB" | "req/s" | "readers" | "requests" | "lines/s" | "%";

export interface Figure {
  figure: string;
  value: number;
  unit: Unit;
  /** What the bare handler reached, in the same unit and the same minute. */
  baseline?: number;
  /** In place of value / baseline, where the ratio was made pair by pair. */
  ratio?: number;
  target?: Target;
  /** Further numbers that belong to it. */
  note?: string;
}

export interface Target {
  rule: "at most" | "at least" | "ratio at least" | "ratio at most";
  value: number;
}

/** Null for a figure without a target. */
export function isMet({ value, ratio, target }: Figure): boolean | null {
  if (!target) return null;
  if (target.rule === "at most") return value <= target.value;
  if (target.rule === "at least") return value >= target.value;
  if (ratio === undefined) return false;
  return target.rule === "ratio at least" ? ratio >= target.value : ratio <= target.value;
}

const HEADINGS = ["Figure", "Measured", "Bare", "Ratio", "Target", "Met", "Note"];

/** One row a figure, in columns; colours only on a terminal. */
export function renderTable(figures: readonly Figure[], coloured: boolean): string {
  const rows = figures.map(cellsOf);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) =>
        column === 0 || column === 6 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  const paint = (text: string, met: boolean | null) =>
    !coloured || met === null ? text : styleText(met ? "green" : "red", text);
  const body = rows.map((cells, index) => paint(line(cells), isMet(figures[index] as Figure)));
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [line(HEADINGS), rule, ...body].join("\n");
}

function cellsOf(figure: Figure): string[] {
  const { value, unit, baseline, ratio, target, note = "" } = figure;
  const met = isMet(figure);
  return [
    figure.figure,
    `${numeral(value)} ${unit}`,
    baseline === undefined ? "" : `${numeral(baseline)} ${unit}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    target ? describe(target, unit) : "",
    met === null ? "" : met ? "yes" : "no",
    note,
  ];
}

function describe({ rule, value }: Target, unit: Unit): string {
  if (rule === "ratio at least") return `ratio ≥ ${value.toFixed(2)}`;
  if (rule === "ratio at most") return `ratio ≤ ${value.toFixed(2)}`;
  return `${rule === "at most" ? "≤" : "≥"} ${numeral(value)} ${unit}`;
}

function numeral(value: number): string {
  return value < 100 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}

export function asJson(figures: readonly Figure[], machine: object): string {
  const rows = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
  return `${JSON.stringify({ machine, figures: rows }, null, 2)}\n`;
}
