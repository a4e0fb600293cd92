import { expect, onTestFinished, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { type BootstrapAdmin, bootstrapAdmin } from "./bootstrap-admin.ts";
import { logIn } from "./log-in.ts";

const ADMIN: BootstrapAdmin = { user: "root.admin", password: "correct horse battery", grantSuperAdmin: true };

async function emptyInstallation(): Promise<TestServices> {
  const world = await openTestServices();
  onTestFinished(() => world.close());
  return world;
}

function users(world: TestServices) {
  return world.services.db.sql<{ name: string; super_admin: boolean; password_hash: string }[]>`
    SELECT name, super_admin, password_hash FROM users`;
}

function creations(world: TestServices) {
  return world.services.db.sql`SELECT actor, target FROM audit_events WHERE action = 'user.created'`;
}

test("the first boot creates a super admin who can sign in, and records that the bootstrap did it", async () => {
  const world = await emptyInstallation();
  expect(await bootstrapAdmin(world.system, ADMIN)).toBe("created");
  expect(await users(world)).toMatchObject([{ name: "root.admin", super_admin: true }]);
  expect(await creations(world)).toEqual([{ actor: "system:bootstrap", target: "user:root.admin" }]);
  const login = await logIn(
    { ...world.system, override: null },
    { username: "root.admin", password: ADMIN.password ?? "" },
  );
  expect(login.user).toMatchObject({ name: "root.admin", superAdmin: true });
});

test("the admin's personal organization is there from the start, and the admin owns it", async () => {
  const world = await emptyInstallation();
  await bootstrapAdmin(world.system, ADMIN);
  const rows = await world.services.db.sql`
    SELECT o.slug, m.role FROM organizations o JOIN memberships m ON m.organization_id = o.id
    JOIN users u ON u.id = o.personal_user_id AND u.id = m.user_id`;
  expect(rows).toEqual([{ slug: "root-admin", role: "owner" }]);
});

test("a later boot leaves the user untouched, even with another password", async () => {
  const world = await emptyInstallation();
  await bootstrapAdmin(world.system, ADMIN);
  const before = await users(world);
  expect(await bootstrapAdmin(world.system, { ...ADMIN, password: "another password" })).toBe("present");
  expect(await users(world)).toEqual(before);
  expect(await creations(world)).toHaveLength(1);
});

test("a user of that name who is no super admin does not become one", async () => {
  const world = await emptyInstallation();
  await asUser(world, "root.admin");
  expect(await bootstrapAdmin(world.system, ADMIN)).toBe("present");
  expect(await users(world)).toMatchObject([{ name: "root.admin", super_admin: false }]);
});

test("without the grant nothing is created", async () => {
  const world = await emptyInstallation();
  expect(await bootstrapAdmin(world.system, { ...ADMIN, grantSuperAdmin: false })).toBe("not-granted");
  expect(await users(world)).toEqual([]);
  expect(await creations(world)).toEqual([]);
});

test("without user and password nothing is created", async () => {
  const world = await emptyInstallation();
  const asked = { user: undefined, password: undefined, grantSuperAdmin: true };
  expect(await bootstrapAdmin(world.system, asked)).toBe("not-asked");
  expect(await users(world)).toEqual([]);
});

test("several processes that boot at once create one user", async () => {
  const world = await emptyInstallation();
  const others = await Promise.all([1, 2].map(() => openTestServices({ url: world.url })));
  onTestFinished(async () => {
    await Promise.all(others.map((other) => other.close()));
  });
  const outcomes = await Promise.all([world, ...others].map(({ system }) => bootstrapAdmin(system, ADMIN)));
  expect(outcomes.sort()).toEqual(["created", "present", "present"]);
  expect(await users(world)).toHaveLength(1);
  expect(await creations(world)).toHaveLength(1);
});

test("nobody but the platform itself may bootstrap", async () => {
  const world = await emptyInstallation();
  await expect(bootstrapAdmin({ ...world.system, override: "super" }, ADMIN)).rejects.toThrow(/Only the platform/);
});
