import type { GitRepository } from "./git-repository.ts";
import type { Reply } from "./quayside.ts";
import { until } from "./until.ts";

const FINISHED = ["deployed", "failed", "cancelled", "superseded"];

/** What a deployer needs of a Quayside, in this process or another. */
export interface Deployable {
  call(method: string, path: string, options?: { token?: string; body?: unknown }): Promise<Reply>;
}

export interface Deployer {
  projectId: string;
  slug: string;
  /** Queues a commit of `main` and returns the deployment's id. */
  queue(commitSha: string, branch?: string): Promise<string>;
  /** Waits until a deployment ended and returns its record. */
  ended(deploymentId: string, timeoutMs?: number): Promise<Reply["body"]>;
  deploy(commitSha: string): Promise<Reply["body"]>;
  logs(deploymentId: string, query?: string): Promise<string>;
}

/** A project on a repository, and what one does with it. */
export async function createDeployer(
  quayside: Deployable,
  token: string,
  repository: Pick<GitRepository, "path">,
  fields: Record<string, unknown> = {},
): Promise<Deployer> {
  const body = { name: `app ${crypto.randomUUID().slice(0, 8)}`, repo: repository.path, ...fields };
  const created = await quayside.call("POST", "/api/projects", { token, body });
  if (created.status !== 201) throw new Error(`The project was not created: ${created.text}`);
  const projectId: string = created.body.id;
  const queue = async (commitSha: string, branch = "main") => {
    const reply = await quayside.call("POST", "/api/deployments", { token, body: { projectId, branch, commitSha } });
    if (reply.status !== 201) throw new Error(`The deployment was not queued: ${reply.text}`);
    return reply.body.id as string;
  };
  const ended = (deploymentId: string, timeoutMs = 45_000) =>
    until(
      `deployment ${deploymentId} has ended`,
      async () => {
        const { body: record } = await quayside.call("GET", `/api/deployments/${deploymentId}`, { token });
        return FINISHED.includes(record.status) ? record : null;
      },
      timeoutMs,
    );
  return {
    projectId,
    slug: created.body.slug,
    queue,
    ended,
    deploy: async (commitSha) => ended(await queue(commitSha)),
    logs: async (id, query = "since=1h") =>
      (await quayside.call("GET", `/api/deployments/${id}/logs?${query}`, { token })).text,
  };
}
