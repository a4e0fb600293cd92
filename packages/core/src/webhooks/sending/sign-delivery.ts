import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

const SECRET_PREFIX = "whsec_";

export interface UnsignedDelivery {
  /** The same for every attempt, so that a receiver can tell a repetition. */
  id: string;
  /** Time of this attempt; it is signed, so that an old delivery cannot be played back. */
  timestamp: Date;
  /** What is sent, byte for byte. */
  body: Buffer;
  /** Of the live signing secrets, the current one first; more than one while a secret is being rotated. */
  keys: readonly SigningKey[];
}

/** A secret made ready to sign many deliveries; making it costs more than signing one. */
export interface SigningKey {
  service: KeyObject;
  standard: KeyObject;
}

/** Secrets that customers bring are keys as they are; those of Standard Webhooks are base64 after the prefix. */
export function signingKey(secret: string): SigningKey {
  const service = createSecretKey(Buffer.from(secret));
  if (!secret.startsWith(SECRET_PREFIX)) return { service, standard: service };
  return { service, standard: createSecretKey(Buffer.from(secret.slice(SECRET_PREFIX.length), "base64")) };
}

/**
 * The headers of a delivery: `X-Service-Signature`, the lowercase hex HMAC-SHA256 of the body under the current secret,
 * and those of Standard Webhooks (https://www.standardwebhooks.com, "Signature scheme"), which sign id and time too, one
 * `v1,<base64>` for each secret. Throws when there is no secret.
 */
export function signDelivery({ id, timestamp, body, keys }: UnsignedDelivery): Record<string, string> {
  const [current] = keys;
  if (current === undefined) throw new Error("A delivery cannot be signed without a secret.");
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const signatures = keys.map(({ standard }) => {
    const hmac = createHmac("sha256", standard).update(`${id}.${seconds}.`).update(body);
    return `v1,${hmac.digest("base64")}`;
  });
  return {
    "Content-Type": "application/json",
    "User-Agent": "Quayside-Webhooks/1",
    "X-Service-Signature": createHmac("sha256", current.service).update(body).digest("hex"),
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
