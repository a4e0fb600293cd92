/**
 * A process for the tests that starts the embedded PostgreSQL on a data folder, says where in one line of JSON on
 * standard output, and stops it in order when its standard input ends. The tests kill it in other ways too.
 * Usage: start-and-hold.ts <data folder> <password>
 */
import { startEmbeddedPostgres } from "../index.ts";

const [dataDir = "", password = ""] = process.argv.slice(2);
const server = await startEmbeddedPostgres({ dataDir, password, onLog: () => undefined, fsync: false });
process.stdout.write(`${JSON.stringify({ url: server.url, reused: server.reused })}\n`);
for await (const _ of process.stdin);
await server.stop();
