import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ensureCluster, LOCALES } from "./cluster.ts";
import { ensureDatabase } from "./connect.ts";
import { locateInstallation, usableInstallation } from "./installation.ts";
import { choosePlace, type Place, SYSTEM_FOLDER } from "./location.ts";
import { freePort, launchServer } from "./server.ts";
import { ask, killServer, PASSWORD, takenPort, temporaryFolder } from "./testing/support.ts";

async function prepared(locales: readonly string[][] = LOCALES) {
  const dataDir = await temporaryFolder();
  const place: Place = await choosePlace(dataDir);
  const found = await locateInstallation();
  const installation = place.user ? await usableInstallation(found, place.user, SYSTEM_FOLDER) : found;
  onTestFinished(() => killServer(place.location));
  await ensureCluster({ installation, place, password: PASSWORD, fsync: false, locales });
  return { installation, place, fsync: false };
}

test("takes another port when the chosen one was taken in between", async () => {
  const options = await prepared();
  const ports = [await takenPort(), await takenPort(), await freePort()];
  const asked: number[] = [];
  const pickPort = async () => {
    const port = ports.shift() ?? 0;
    asked.push(port);
    return port;
  };
  const server = await launchServer({ ...options, pickPort });
  expect(asked).toHaveLength(3);
  expect(server.port).toBe(asked[2]);
});

test("gives up after five taken ports and says why", async () => {
  const options = await prepared();
  const port = await takenPort();
  let asked = 0;
  const pickPort = async () => {
    asked += 1;
    return port;
  };
  await expect(launchServer({ ...options, pickPort })).rejects.toThrow(/did not start(.|\n)*Address already in use/);
  expect(asked).toBe(5);
});

test("a system without C.UTF-8 gets the same text rules from PostgreSQL itself", async () => {
  const { place, ...options } = await prepared([["--locale=xx_XX.UTF-8"], ...LOCALES.slice(1)]);
  const server = await launchServer({ place, ...options });
  const url = await ensureDatabase(server.port, PASSWORD, place);
  expect(await ask(url, "select datlocprovider from pg_database where datname = 'quayside'")).toBe("b");
  expect(await ask(url, "select string_agg(word, ' ' order by word) from unnest('{b,Ä,a,B}'::text[]) word")).toBe(
    "B a b Ä",
  );
  expect(await ask(url, "select lower('Ä')")).toBe("ä");
});

test("a cluster that cannot be made says why and leaves nothing", async () => {
  const dataDir = await temporaryFolder();
  const place = await choosePlace(dataDir);
  const installation = { native: join(dataDir, "nowhere"), version: "0" };
  const making = ensureCluster({ installation, place, password: PASSWORD, fsync: true });
  await expect(making).rejects.toThrow(/could not create its cluster.*ENOENT/);
  expect(await readdir(dataDir)).toEqual([]);
});
