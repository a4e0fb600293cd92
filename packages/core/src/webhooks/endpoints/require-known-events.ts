import { ENDPOINT_EVENTS, PlatformError } from "@quayside/contracts";

const MAX_SHOWN = 50;

/** Throws `validation_failed` that names each unknown type and, in `allowed`, the right ones. */
export function requireKnownEvents(events: readonly string[] = []): void {
  const known: readonly string[] = ENDPOINT_EVENTS;
  const issues = events.flatMap((event, index) =>
    known.includes(event)
      ? []
      : [
          {
            field: `events.${index}`,
            code: "invalid_value",
            message: `'${event.slice(0, MAX_SHOWN)}' is no event type.`,
          },
        ],
  );
  const [first] = issues;
  if (!first) return;
  const message = `${first.message} Right are: ${known.join(", ")}.`;
  throw new PlatformError("validation_failed", message, { issues, allowed: known });
}
