import { withoutBoundValues } from "@quayside/core";
import pino, { type Logger } from "pino";
import pretty from "pino-pretty";

const BUFFER_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 200;

/** Whatever a log call carries under these names is hidden. */
const SECRET_FIELDS = ["password", "token", "secret", "authorization", "cookie", "key", "connectionString"];
const REDACTED = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

export interface ServerLog {
  log: Logger;
  /** For the line of each request, whose fields are fixed and carry no secret: it goes without the search for them. */
  requestLog: Logger;
  /** Writes what is buffered; call before the process ends. */
  flush(): void;
}

/** Errors as pino writes them, without the values of the statements that failed. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const described = pino.stdSerializers.err(error);
  return {
    type: described.type,
    message: withoutBoundValues(described.message),
    stack: withoutBoundValues(described.stack),
    ...(described["code"] === undefined ? {} : { code: described["code"] }),
  };
}

/** JSON lines, or readable lines on a terminal. */
export function createLog(level: string, terminal: boolean): ServerLog {
  const options = {
    level,
    redact: { paths: REDACTED, censor: "[hidden]" },
    base: null,
    serializers: { err: describeError },
  };
  if (terminal) {
    const stream = pretty({ sync: true, colorize: true, translateTime: "HH:MM:ss.l", singleLine: true });
    const log = pino(options, stream);
    return { log, requestLog: log, flush() {} };
  }
  const destination = pino.destination({ dest: 1, sync: false, minLength: BUFFER_BYTES });
  const timer = setInterval(() => destination.flush(), FLUSH_INTERVAL_MS);
  timer.unref();
  return {
    log: pino(options, destination),
    requestLog: pino({ level, base: null }, destination),
    flush() {
      try {
        destination.flushSync();
      } catch {
        // Not open yet, or standard output is gone.
      }
    },
  };
}
