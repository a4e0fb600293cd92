import { createHmac } from "node:crypto";

const SECRET_PREFIX = "whsec_";

export interface UnsignedDelivery {
  /** The same for every attempt, so that a receiver can tell a repetition. */
  id: string;
  /** Time of this attempt; it is signed, so that an old delivery cannot be played back. */
  timestamp: Date;
  /** What is sent, byte for byte. */
  body: Buffer;
  /** Live signing secrets, the current one first; more than one while a secret is being rotated. */
  secrets: readonly string[];
}

/**
 * The headers of a delivery: `X-Service-Signature`, the lowercase hex HMAC-SHA256 of the body under the current secret,
 * and those of Standard Webhooks (https://www.standardwebhooks.com, "Signature scheme"), which sign id and time too, one
 * `v1,<base64>` for each secret. Throws when there is no secret.
 */
export function signDelivery({ id, timestamp, body, secrets }: UnsignedDelivery): Record<string, string> {
  const [current] = secrets;
  if (current === undefined) throw new Error("A delivery cannot be signed without a secret.");
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const signatures = secrets.map((secret) => {
    const hmac = createHmac("sha256", keyOf(secret)).update(`${id}.${seconds}.`).update(body);
    return `v1,${hmac.digest("base64")}`;
  });
  return {
    "Content-Type": "application/json",
    "User-Agent": "Quayside-Webhooks/1",
    "X-Service-Signature": createHmac("sha256", Buffer.from(current)).update(body).digest("hex"),
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}

/** Secrets that customers bring are keys as they are; those of Standard Webhooks are base64 after the prefix. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), "base64")
    : Buffer.from(secret);
}
