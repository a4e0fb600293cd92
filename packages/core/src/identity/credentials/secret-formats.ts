import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { KeyEnvironment } from "@quayside/contracts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const API_KEY = /^qs_(live|test|dev)_[0-9A-Za-z]{49}$/;
const DISPLAYED_BODY_CHARACTERS = 6;

/** SHA-256 of a secret, which is all that is kept of it. Secrets have 256 random bits, so no salt is needed. */
export function hashSecret(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

/** `qs_<environment>_<43 base62 characters><6 base62 characters of CRC-32>`. */
export function generateApiKey(environment: KeyEnvironment): { secret: string; prefix: string } {
  const stem = `qs_${environment}_${randomBase62(BODY_LENGTH)}`;
  const prefix = stem.slice(0, `qs_${environment}_`.length + DISPLAYED_BODY_CHARACTERS);
  return { secret: stem + checksum(stem), prefix };
}

/** Whether the text can be an API key at all: form and checksum, without asking the database. */
export function isWellFormedApiKey(text: string): boolean {
  if (!API_KEY.test(text)) return false;
  const stem = text.slice(0, -CHECKSUM_LENGTH);
  return checksum(stem) === text.slice(-CHECKSUM_LENGTH);
}

export const ROLE_TOKEN_PREFIX = "qst_";

export function generateRoleToken(): string {
  const stem = ROLE_TOKEN_PREFIX + randomBase62(BODY_LENGTH);
  return stem + checksum(stem);
}

export function isWellFormedRoleToken(text: string): boolean {
  return (
    /^qst_[0-9A-Za-z]{49}$/.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
  );
}

/** Compares secrets in constant time, whatever their lengths. */
export function secretsEqual(given: string, expected: string): boolean {
  return timingSafeEqual(hashSecret(given), hashSecret(expected));
}

function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      // 248 is the largest multiple of 62 in a byte; what lies above would make some characters likelier.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

function checksum(stem: string): string {
  let value = crc32(Buffer.from(stem, "latin1"));
  let text = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    text = (BASE62[value % 62] ?? "0") + text;
    value = Math.floor(value / 62);
  }
  return text;
}
