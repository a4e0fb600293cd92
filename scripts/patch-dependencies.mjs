// Mends faults of dependencies that their newest release still has. Plain JavaScript, run after every install; running
// it twice changes nothing. docs/decisions/0015 says what each change is for and when it can go.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const PATCHES = [
  {
    package: "postgres",
    version: "3.4.9",
    file: "src/connection.js",
    changes: [
      // A write that was put off must not reach for the socket of a connection that has closed meanwhile: it would end
      // the process. What waited on it is told instead.
      [
        "    const x = socket.write(chunk, fn)\n    nextWriteTimer !== null && clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n",
        "    const data = chunk\n    nextWriteTimer !== null && clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n    if (socket === null) {\n      error(Errors.connection('CONNECTION_CLOSED', options, socket))\n      return false\n    }\n    const x = socket.write(data, fn)\n",
      ],
      // A connection that comes back begins with nothing of the one before: no half-written bytes, no put-off write
      // that never comes, no query and no error of the old session.
      [
        "    socket.removeAllListeners()\n    socket = null\n\n    if (initial)",
        "    socket.removeAllListeners()\n    socket = null\n    chunk = nextWriteTimer = errorResponse = null\n\n    if (initial)",
      ],
      // Whoever still waits is told, also when the connection ended with an error: a query that came after that error
      // would wait for ever.
      [
        "    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))\n",
        "    query || sent.length ? error(Errors.connection('CONNECTION_CLOSED', options, socket)) : null\n    query = null\n",
      ],
      // BEGIN must reserve its connection also when the pipeline is full or the socket's buffer is: else the
      // transaction stays open on a pooled connection, and other queries become part of it.
      [
        "      build(q)\n      return write(toBuffer(q))\n        && !q.describeFirst\n        && !q.cursorFn\n        && sent.length < max_pipeline\n        && (!q.options.onexecute || q.options.onexecute(connection))\n",
        "      build(q)\n      const ready = write(toBuffer(q))\n        && !q.describeFirst\n        && !q.cursorFn\n        && sent.length < max_pipeline\n      return q.options.onexecute\n        ? q.options.onexecute(connection) && ready\n        : ready\n",
      ],
    ],
  },
  {
    package: "postgres",
    version: "3.4.9",
    file: "src/index.js",
    changes: [
      // What a transaction still asks for after its connection closed is refused: the connection may be back by then,
      // and the statements would run in somebody else's transaction, or in none.
      [
        "        new Promise((_, reject) => connection.onclose = reject)\n",
        "        new Promise((_, reject) => connection.onclose = e => (closedBy = e, reject(e)))\n",
      ],
      [
        "      , connection\n      , prepare = null\n",
        "      , connection\n      , closedBy = null\n      , prepare = null\n",
      ],
      [
        "        q.catch(e => uncaughtError || (uncaughtError = e))\n",
        "        q.catch(e => uncaughtError || (uncaughtError = e))\n        if (closedBy)\n          return q.reject(closedBy)\n",
      ],
    ],
  },
];

for (const { package: name, version, file, changes } of PATCHES) {
  const folder = join(root, "node_modules", name);
  if (!existsSync(folder)) continue;
  const { version: installed } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (installed !== version) fail(`${name} ${installed} is installed, and the changes are for ${version}`);
  const path = join(folder, file);
  let text = readFileSync(path, "utf8");
  for (const [before, after] of changes) {
    if (text.includes(after)) continue;
    if (text.split(before).length !== 2) fail(`${name}/${file} is not the file that the changes are for`);
    text = text.replace(before, () => after);
  }
  writeFileSync(path, text);
}

function fail(reason) {
  process.stderr.write(`A dependency could not be mended: ${reason}. Look at scripts/patch-dependencies.mjs.\n`);
  process.exit(1);
}
