import type { TestQuayside } from "./quayside.ts";

/** A queued deployment; without a worker it stays queued, and its stream says what tests make it say. */
export async function queueDeployment(quayside: TestQuayside, token = quayside.adminToken): Promise<string> {
  const project = await quayside.call("POST", "/api/projects", {
    token,
    body: { name: "streamed", repo: "https://git.example/streamed.git" },
  });
  const created = await quayside.call("POST", "/api/deployments", {
    token,
    body: { projectId: project.body.id, branch: "main", commitSha: "0123456789abcdef0123456789abcdef01234567" },
  });
  if (created.status !== 201) throw new Error(`The deployment was not created: ${created.text}`);
  return created.body.id;
}

/** One more event of the deployment's stream. */
export async function setStatus(quayside: TestQuayside, id: string, status: string): Promise<void> {
  const reply = await quayside.call("PATCH", `/api/deployments/${id}`, {
    token: quayside.adminToken,
    body: { status },
  });
  if (reply.status !== 200) throw new Error(`The status was not set: ${reply.text}`);
}
