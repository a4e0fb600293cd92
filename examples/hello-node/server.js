import { createServer } from "node:http";

const greeting = "Hello from Quayside, first edition";

const server = createServer((request, response) => {
  console.log(`${request.method} ${request.url}`);
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.end(`${greeting}\n`);
});

server.listen(Number(process.env.PORT), process.env.HOST, () => console.log(`${greeting}: listening`));

// Quayside sends SIGTERM when a newer release has taken over.
process.on("SIGTERM", () => server.close(() => process.exit(0)));
