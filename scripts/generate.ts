// Writes what is generated from the code: the table of environment variables in docs/operations.md and the snapshot of
// the OpenAPI document. `npm run generate` writes; with `--check` nothing is written, and a file that is out of date
// is an error.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { environmentSchema } from "@quayside/contracts";
import { buildRouteTable } from "@quayside/rest-facade";
import { buildOpenApiDocument } from "../packages/rest-facade/src/docs/openapi-document.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const OPERATIONS = "docs/operations.md";
const SNAPSHOT = "test/contract/openapi.snapshot.json";
const BASE_URL = "http://localhost:4000";
const LINE_WIDTH = 120;
const BEGIN = "<!-- environment: begin -->";
const END = "<!-- environment: end -->";

export interface GeneratedFile {
  /** Relative to the project root, with forward slashes. */
  path: string;
  content: string;
}

/** Every generated file with the content that it should have. Reads docs/operations.md for the text around its table. */
export function generatedFiles(): GeneratedFile[] {
  const operations = readFileSync(join(ROOT, OPERATIONS), "utf8");
  return [
    { path: OPERATIONS, content: replaceBetweenMarkers(operations, renderEnvironmentTable()) },
    { path: SNAPSHOT, content: renderOpenApiSnapshot() },
  ];
}

/** The generated files whose content on disk differs; a missing file differs. */
export function outdatedFiles(): GeneratedFile[] {
  return generatedFiles().filter(({ path, content }) => readIfPresent(join(ROOT, path)) !== content);
}

/** One row for each variable, in the order of the schema: name, default, description. */
export function renderEnvironmentTable(): string {
  const rows = Object.entries(environmentSchema.shape).map(([name, field]) => {
    // A variable that is not set shows its default, or that it has none.
    const unset = field.safeParse(undefined);
    const value = unset.success ? defaultText(unset.data) : "";
    return `| \`${name}\` | ${value === "" ? "" : `\`${cell(value)}\``} | ${cell(field.description ?? "")} |`;
  });
  return ["| Variable | Default | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function defaultText(value: unknown): string {
  if (value === undefined) return "";
  return Array.isArray(value) ? value.join(",") : String(value);
}

/** Text of one table cell. */
function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll("|", "\\|");
}

/** The document with the text between the two markers replaced. Throws when a marker is missing. */
export function replaceBetweenMarkers(document: string, text: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${OPERATIONS} must contain '${BEGIN}' and, after it, '${END}'.`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${document.slice(end)}`;
}

/** The OpenAPI document as JSON with sorted keys, in the form that the formatter keeps. */
export function renderOpenApiSnapshot(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  const document = buildOpenApiDocument(buildRouteTable(), { baseUrl: BASE_URL, version });
  // Through JSON, so that what JSON leaves out is left out here too.
  return `${printJson(JSON.parse(JSON.stringify(document)), 0, 0)}\n`;
}

/** `taken` is how many columns of the line are used before the value. */
function printJson(value: unknown, depth: number, taken: number): string {
  const inner = "  ".repeat(depth + 1);
  const outer = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    const oneLine = `[${value.map((item) => JSON.stringify(item)).join(", ")}]`;
    const plain = value.every((item) => typeof item !== "object" || item === null);
    if (plain && taken + oneLine.length + 1 <= LINE_WIDTH) return oneLine;
    const items = value.map((item) => inner + printJson(item, depth + 1, inner.length));
    return `[\n${items.join(",\n")}\n${outer}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return "{}";
  const lines = entries.map(([name, item]) => {
    const start = `${inner}${JSON.stringify(name)}: `;
    return start + printJson(item, depth + 1, start.length);
  });
  return `{\n${lines.join(",\n")}\n${outer}}`;
}

function readIfPresent(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function main(check: boolean): void {
  const outdated = outdatedFiles();
  for (const { path, content } of outdated) {
    if (check) {
      process.stderr.write(`${path} is out of date: run 'npm run generate'.\n`);
      continue;
    }
    const file = join(ROOT, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    process.stdout.write(`wrote ${path}\n`);
  }
  if (outdated.length === 0) process.stdout.write("Everything generated is up to date.\n");
  else if (check) process.exitCode = 1;
}

if (import.meta.main) main(process.argv.includes("--check"));
