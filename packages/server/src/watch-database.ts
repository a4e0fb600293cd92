import { connect } from "node:net";

const CHECK_INTERVAL_MS = 1_000;
const FAILURES_TO_GIVE_UP = 3;

/** Calls `onGone` once when nothing listens on the embedded database's port any more. The returned function ends it. */
export function watchDatabase(port: number, onGone: () => void): () => void {
  let failures = 0;
  const timer = setInterval(() => {
    const socket = connect({ host: "127.0.0.1", port, timeout: CHECK_INTERVAL_MS });
    socket.once("connect", () => {
      failures = 0;
      socket.destroy();
    });
    socket.once("error", () => {
      failures += 1;
      if (failures !== FAILURES_TO_GIVE_UP) return;
      clearInterval(timer);
      onGone();
    });
  }, CHECK_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
