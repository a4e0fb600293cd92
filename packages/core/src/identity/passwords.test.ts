import { beforeEach, expect, test, vi } from "vitest";

const verify = vi.hoisted(() => vi.fn());
vi.mock("@node-rs/argon2", async (original) => {
  const library = await original<typeof import("@node-rs/argon2")>();
  verify.mockImplementation(library.verify);
  return { ...library, verify };
});

const { hashPassword, verifyPassword } = await import("./passwords.ts");

beforeEach(() => {
  verify.mockClear();
});

/** What decides how long a verification takes: algorithm and parameters of the hash. */
const cost = (hash: unknown) => String(hash).split("$").slice(0, 4).join("$");

test("a password is hashed with Argon2id, 19 MiB and 2 passes, with a salt of its own", async () => {
  const [one, other] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
  expect(cost(one)).toBe("$argon2id$v=19$m=19456,t=2,p=1");
  expect(one).not.toBe(other);
});

test("the right password fits, and no other", async () => {
  const stored = await hashPassword("correct horse");
  expect(await verifyPassword(stored, "correct horse")).toBe(true);
  for (const wrong of ["", "correct hors", "correct horse ", "Correct horse"]) {
    expect(await verifyPassword(stored, wrong)).toBe(false);
  }
});

test("an unknown user costs the same work as a known one, and no password fits", async () => {
  const stored = await hashPassword("correct horse");
  await verifyPassword(stored, "wrong password");
  expect(await verifyPassword(null, "wrong password")).toBe(false);
  expect(verify).toHaveBeenCalledTimes(2);
  const [known, unknown] = verify.mock.calls.map(([hash]) => cost(hash));
  expect(unknown).toBe(known);
});
