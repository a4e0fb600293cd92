import type { Benchmark } from "../support/bench.ts";
import { startHelper } from "../support/children.ts";
import { compare } from "../support/load.ts";

const TARGET = 0.6;

/** `GET /api/projects/:id`: API key, rate limit, schemas, one statement, log line and metrics. */
export const projectRead: Benchmark = {
  name: "project-read",
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    const project = await quayside.api.hosting.projects.create.mutate({
      name: "Read often",
      repo: "https://git.example.com/team/read-often.git",
      buildConfig: { start: "node server.js", healthcheck: "/healthz", env: { GREETING: "hello" } },
    });
    const env = { DATABASE_URL: await installation.databaseUrl(), PROJECT_ID: project.id };
    const bare = startHelper("baseline/project-read.ts", env);
    try {
      const { port } = await bare.receive<{ port: number }>();
      const path = `/api/projects/${project.id}`;
      const headers = { authorization: `Bearer ${key}` };
      return [
        await compare(
          "GET /api/projects/:id",
          { url: installation.baseUrl + path, method: "GET", headers },
          { url: `http://127.0.0.1:${port}${path}`, method: "GET", headers },
          TARGET,
        ),
      ];
    } finally {
      await bare.stop();
      quayside.close();
    }
  },
};
