import type { WebhookEventData } from "@quayside/contracts";

/** What webhooks are told of a project. */
export function projectEventData(
  project: { id: string; name: string; slug: string },
  changed?: string[],
): WebhookEventData<"resource.updated"> {
  const { id, name, slug } = project;
  return { resource: "project", id, name, slug, ...(changed ? { changed } : {}) };
}
