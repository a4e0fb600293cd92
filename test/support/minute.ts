import { until } from "./until.ts";

const ROOM_MS = 5_000;

/** Rate limits count by the minute; a test that counts begins where the minute does not turn in the middle of it. */
export async function roomInThisMinute(): Promise<void> {
  await until("the minute has room", () => 60_000 - (Date.now() % 60_000) > ROOM_MS);
}
