import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** Seals stored secrets. `purpose` binds a sealed value to its place, so that it cannot be moved to another. */
export interface Sealer {
  seal(purpose: string, plain: Buffer | string): Buffer;
  /** Throws when the value was changed, moved, or sealed with a key that is not at hand. */
  open(purpose: string, sealed: Buffer): Buffer;
}

const VERSION = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES;

/**
 * AES-256-GCM. The envelope is `version (1) | key id (4) | nonce (12) | tag (16) | ciphertext`; the key id tells which
 * key opens it, so that keys can be rotated. `keys` are 32 bytes each; the first one seals.
 */
export function createSealer(keys: readonly Buffer[]): Sealer {
  const byId = new Map(keys.map((key) => [keyId(key), deriveKey(key)]));
  const first = keys[0];
  if (!first) throw new Error("A sealer needs a key.");
  const sealingId = keyId(first);
  const sealingKey = deriveKey(first);
  return {
    seal(purpose, plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      cipher.setAAD(Buffer.from(purpose));
      const body = Buffer.concat([
        cipher.update(typeof plain === "string" ? Buffer.from(plain) : plain),
        cipher.final(),
      ]);
      return Buffer.concat([Buffer.from([VERSION]), Buffer.from(sealingId, "hex"), nonce, cipher.getAuthTag(), body]);
    },
    open(purpose, sealed) {
      if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) throw new Error("Not a sealed value.");
      const id = sealed.subarray(1, 1 + KEY_ID_BYTES).toString("hex");
      const key = byId.get(id);
      if (!key) throw new Error(`The value was sealed with key ${id}, which is not configured.`);
      const nonce = sealed.subarray(1 + KEY_ID_BYTES, 1 + KEY_ID_BYTES + NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce);
      decipher.setAAD(Buffer.from(purpose));
      decipher.setAuthTag(sealed.subarray(HEADER_BYTES - TAG_BYTES, HEADER_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]);
    },
  };
}

function keyId(key: Buffer): string {
  return createHash("sha256")
    .update("quayside key id")
    .update(key)
    .digest("hex")
    .slice(0, KEY_ID_BYTES * 2);
}

function deriveKey(key: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", "quayside sealing", 32));
}
