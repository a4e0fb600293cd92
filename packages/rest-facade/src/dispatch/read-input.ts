import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { prototypeKey, refusePrototypeKeys } from "@quayside/api";
import { PlatformError } from "@quayside/contracts";
import qs from "qs";
import { coerce } from "./coerce.ts";
import type { Match } from "./route-table.ts";

const DEFAULT_MAX_BODY_BYTES = 1_048_576;
const MAX_QUERY_PARAMETERS = 100;
const MAX_QUERY_DEPTH = 3;

export interface ReadInput {
  input: unknown;
  /** The body as it came, for the `Idempotency-Key` rule. */
  body: string;
}

/** Path parameters, query and JSON body as one input. Throws 400, 413 or 415 with a message that helps. */
export async function readInput(req: IncomingMessage, match: Match, query: string): Promise<ReadInput> {
  const { route, params } = match;
  const takesBody = route.method !== "GET" && route.method !== "DELETE";
  const body = takesBody ? await readBody(req, route.rest.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES) : "";
  if (!route.hasInput) return { input: undefined, body };
  if (route.rest.raw) {
    const signature = req.headers[route.rest.raw.signatureHeader];
    return { input: { payload: body, signature: typeof signature === "string" ? signature : null }, body };
  }
  const values = takesBody ? parseJsonObject(req, body) : parseQuery(query);
  for (const [name, value] of Object.entries(params)) {
    if (Object.hasOwn(values, name)) {
      throw new PlatformError("invalid_request", `'${name}' is part of the path; leave it out elsewhere.`);
    }
    values[name] = value;
  }
  return { input: takesBody ? values : coerce(values, route.coercions), body };
}

function parseQuery(query: string): Record<string, unknown> {
  if (query === "") return {};
  if (/proto|%/i.test(query)) refusePrototypeNames(query);
  try {
    return qs.parse(query, {
      depth: MAX_QUERY_DEPTH,
      strictDepth: true,
      parameterLimit: MAX_QUERY_PARAMETERS,
      // A repeated name stays a list, however often, for the schema to take or refuse.
      arrayLimit: MAX_QUERY_PARAMETERS,
      throwOnLimitExceeded: true,
      // Without a prototype, 'constructor' is a name like any other. With one, qs would drop it without a word, and
      // with it the filter that was meant.
      plainObjects: true,
    });
  } catch {
    throw new PlatformError(
      "invalid_request",
      `The query has more than ${MAX_QUERY_PARAMETERS} parameters or is nested more than ${MAX_QUERY_DEPTH} deep.`,
    );
  }
}

/** qs would drop such a name, and with it the filter that was meant. */
function refusePrototypeNames(query: string): void {
  for (const part of query.replace(/%5b/gi, "[").replace(/%5d/gi, "]").split("&")) {
    const end = part.includes("]=") ? part.indexOf("]=") + 1 : part.indexOf("=");
    const name = end < 0 ? part : part.slice(0, end);
    const plain = name.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (/(?:^|\[)__proto__(?:[[\]]|$)/.test(plain)) throw prototypeKey([]);
  }
}

function parseJsonObject(req: IncomingMessage, body: string): Record<string, unknown> {
  if (body === "") return {};
  const type = req.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !/^application\/[a-z0-9.-]+\+json$/.test(type)) {
    const sent = type === "" ? "no Content-Type" : `'${type.slice(0, 100)}'`;
    throw new PlatformError(
      "unsupported_media_type",
      `Send JSON with 'Content-Type: application/json'; this came with ${sent}.`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw new PlatformError("malformed_body", `The body is not valid JSON: ${reasonOf(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new PlatformError("malformed_body", "The body must be a JSON object.");
  }
  if (/__proto__|\\u00/i.test(body)) refusePrototypeKeys(value);
  return value as Record<string, unknown>;
}

/** V8's own words about where the fault is, without a copy of the body. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const place = /at position \d+ \(line (\d+) column (\d+)\)/.exec(message);
  if (place) return `there is a fault at line ${place[1]}, column ${place[2]}.`;
  const token = /^Unexpected token '(.{1,2})'/u.exec(message);
  return token ? `the character '${token[1]}' is out of place.` : "it ends too early.";
}

function readBody(req: IncomingMessage, maxBytes: number): Promise<string> {
  const declared = Number(req.headers["content-length"] ?? 0);
  if (declared > maxBytes) return Promise.reject(tooLarge(maxBytes));
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    const message = `Content-Encoding '${encoding.slice(0, 50)}' is not supported here; send the body uncompressed.`;
    return Promise.reject(new PlatformError("unsupported_media_type", message));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    req.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      req.removeAllListeners("data");
      req.pause();
      reject(tooLarge(maxBytes));
    });
    req.on("end", () => {
      const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      // Otherwise wrong bytes would be stored as replacement characters.
      if (isUtf8(body)) resolve(body.toString("utf8"));
      else reject(new PlatformError("malformed_body", "The body is not valid UTF-8."));
    });
    req.on("error", () => reject(cutShort()));
    req.on("close", () => {
      if (!req.complete) reject(cutShort());
    });
  });
}

function cutShort(): PlatformError {
  return new PlatformError("malformed_body", "The body ended before it was complete.");
}

function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError("payload_too_large", `The body may have at most ${maxBytes} bytes here.`);
}
