/** What a delivery tells. */
export interface VerifiedWebhook<Data = unknown> {
  /** The same for every attempt, so that a repeated delivery can be told from a new one. */
  id: string;
  type: string;
  /** ISO 8601, in UTC. */
  createdAt: string;
  organizationId: string;
  data: Data;
}

/** The headers as `fetch` or as Node give them; names in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /** How old a delivery may be, and how far ahead of this clock: 300 unless given. */
  toleranceSeconds?: number;
  now?: Date;
}

/** The request is not one of ours, or not as we sent it: answer 400. The message says what is wrong, and no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
}

const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
const SERVICE_HEADER = "x-service-signature";
const SECRET_PREFIX = "whsec_";
const DEFAULT_TOLERANCE_SECONDS = 300;
/** One for each live secret; more are not looked at. */
const MAX_SIGNATURES = 10;
const HMAC = { name: "HMAC", hash: "SHA-256" } as const;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Checks that a delivery came from Quayside and was not changed, and gives its contents. `rawBody` is the body as it
 * came, not parsed and written again. `secret` is the endpoint's, or several while it is being rotated.
 *
 * The Standard Webhooks signature is checked (https://www.standardwebhooks.com), which covers id and time too, so that an
 * old delivery cannot be played back later. Where those headers are absent altogether, `X-Service-Signature` is checked,
 * which covers the body alone: remember the ids that you have handled. Throws `WebhookVerificationError`. It uses Web
 * Crypto only, whose comparison takes the same time whatever differs.
 */
export async function verifyWebhook<Data = unknown>(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<VerifiedWebhook<Data>> {
  const body = bytesOf(rawBody);
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.includes(""))
    throw new WebhookVerificationError("There is no secret to verify with.");
  const read = headerReader(headers);
  if (STANDARD_HEADERS.some((name) => read(name) !== undefined)) await verifyStandard(body, read, secrets, options);
  else await verifyService(body, read(SERVICE_HEADER), secrets);
  return parse<Data>(body);
}

async function verifyStandard(
  body: Bytes,
  read: (name: string) => string | undefined,
  secrets: readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = new Date() }: VerifyWebhookOptions,
): Promise<void> {
  const [id, timestamp, list] = STANDARD_HEADERS.map((name) => {
    const value = read(name);
    if (!value) throw new WebhookVerificationError(`The header ${name} is missing.`);
    return value;
  }) as [string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError("The header webhook-timestamp is not a time in seconds.");
  }
  const ageSeconds = now.getTime() / 1000 - Number(timestamp);
  if (ageSeconds > toleranceSeconds) throw new WebhookVerificationError("The delivery is too old.");
  if (ageSeconds < -toleranceSeconds) throw new WebhookVerificationError("The delivery's time is in the future.");
  const signatures = list
    .split(" ")
    .filter((each) => each.startsWith("v1,"))
    .slice(0, MAX_SIGNATURES)
    .map((each) => fromBase64(each.slice("v1,".length)))
    .filter((each) => each !== null);
  if (signatures.length === 0) {
    throw new WebhookVerificationError("The header webhook-signature has no signature of version v1.");
  }
  const signed = concat(bytesOf(`${id}.${timestamp}.`), body);
  if (!(await matches(signed, signatures, secrets.map(standardKeyOf)))) {
    throw new WebhookVerificationError("No signature fits: the secret is another one, or the body was changed.");
  }
}

async function verifyService(body: Bytes, header: string | undefined, secrets: readonly string[]): Promise<void> {
  if (!header) {
    throw new WebhookVerificationError(
      "The request has no signature: neither webhook-signature nor X-Service-Signature.",
    );
  }
  if (!/^[\da-f]{64}$/i.test(header)) {
    throw new WebhookVerificationError("The header X-Service-Signature is not an HMAC-SHA256 in hex.");
  }
  const signature = Uint8Array.from(header.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  if (!(await matches(body, [signature], secrets.map(bytesOf)))) {
    throw new WebhookVerificationError(
      "The signature does not fit: the secret is another one, or the body was changed.",
    );
  }
}

async function matches(signed: Bytes, signatures: readonly Bytes[], keys: readonly Bytes[]): Promise<boolean> {
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, HMAC, false, ["verify"]);
    for (const signature of signatures) {
      if (await crypto.subtle.verify(HMAC.name, key, signature, signed)) return true;
    }
  }
  return false;
}

/** Secrets with the prefix are base64 after it; any other is its text. */
function standardKeyOf(secret: string): Bytes {
  if (!secret.startsWith(SECRET_PREFIX)) return bytesOf(secret);
  const key = fromBase64(secret.slice(SECRET_PREFIX.length));
  if (!key || key.length === 0) throw new WebhookVerificationError("The secret is not base64 after whsec_.");
  return key;
}

/** Takes the URL alphabet and missing padding as well; null for what is not base64. */
function fromBase64(text: string): Bytes | null {
  try {
    const binary = atob(text.trim().replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function headerReader(headers: WebhookHeaders): (name: string) => string | undefined {
  // Not by class: frameworks bring `Headers` of their own.
  if (isHeaders(headers)) return (name) => headers.get(name) ?? undefined;
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat()[0]]));
  return (name) => byName.get(name);
}

function isHeaders(headers: WebhookHeaders): headers is Headers {
  return "get" in headers && typeof headers.get === "function";
}

function parse<Data>(body: Bytes): VerifiedWebhook<Data> {
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new WebhookVerificationError("The body is signed, but it is not JSON.");
  }
  if (!isEvent(event)) throw new WebhookVerificationError("The body is signed, but it is not an event.");
  return event as VerifiedWebhook<Data>;
}

function isEvent(value: unknown): value is VerifiedWebhook {
  if (typeof value !== "object" || value === null || !("data" in value)) return false;
  const event = value as Record<string, unknown>;
  return ["id", "type", "createdAt", "organizationId"].every((name) => typeof event[name] === "string");
}

function bytesOf(value: string | Uint8Array): Bytes {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw new WebhookVerificationError("The body must be given as it came: a string or bytes, not a parsed object.");
}

function concat(first: Bytes, second: Bytes): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
