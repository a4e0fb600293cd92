import { hash, verify } from "@node-rs/argon2";

// The library exports its algorithms as an ambient const enum, which has no value at run time.
const ARGON2ID = 2;

/** Argon2id with 19 MiB, 2 passes, 1 lane: the OWASP minimum. About 20 ms of one core, off the event loop. */
const OPTIONS = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Hash of a random password that nobody knows, with the same cost. */
const NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$qUJuPhPhJ7c0ocaPBtfS2A$TLBRMqXTuGY46QvYN9WqBF09fTdKVtDB2AH9bHS/S1g";

export function hashPassword(password: string): Promise<string> {
  return hash(password, OPTIONS);
}

/** Whether the password fits. Without a stored hash it works just as long and says no, so that time tells nothing. */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const fits = await verify(stored ?? NOBODY, password);
  return stored !== null && fits;
}
