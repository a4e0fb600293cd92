import { z } from "zod";
import { dateTime, plainText } from "../platform/text.ts";

/**
 * Login names: 2 to 64 characters, lower-case letters, digits, `.`, `_` and `-`, beginning with a letter or digit.
 * The same rule holds for `BOOTSTRAP_ADMIN_USER`.
 */
export const userName = z
  .string()
  .min(2)
  .max(64)
  .regex(
    /^[a-z0-9][a-z0-9._-]*$/,
    "use lower-case letters, digits, '.', '_' and '-', beginning with a letter or digit",
  );

/** 8 to 256 characters without control characters. The same rule holds for `BOOTSTRAP_ADMIN_PASSWORD`. */
export const password = z
  .string()
  .min(8)
  .max(256)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the rule refuses
  .regex(/^[^\u0000-\u001f\u007f]*$/, "must not contain control characters");

/** Wider than what an account can have: a name or password that cannot be right is as wrong as any other. */
export const loginInput = z.strictObject({ username: plainText(1, 256), password: plainText(1, 1_024) });

export const sessionUser = z.object({ id: z.int(), name: z.string(), superAdmin: z.boolean() });

export const loginOutput = z.object({
  token: z.string().describe("Session token; also set as the cookie registry_session."),
  expiresAt: dateTime,
  user: sessionUser,
});

export const logoutOutput = z.object({ ok: z.literal(true) });

export const whoami = z.object({
  user: z.object({ id: z.int(), uid: z.guid(), name: z.string(), superAdmin: z.boolean() }),
  organization: z.object({ id: z.guid(), slug: z.string() }),
  scopes: z.array(z.enum(["read", "write", "admin"])),
  permissions: z.array(z.enum(["read", "publish", "unpublish", "admin"])),
  via: z.object({ kind: z.enum(["session", "jwt", "role_token", "api_key"]), id: z.string() }),
});

export const jwtOutput = z.object({ token: z.string(), expiresAt: dateTime });
