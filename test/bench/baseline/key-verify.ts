// The bare handler beside `POST /v1/crm/api-keys/verify`: Express parses the same body and answers the same JSON.
import express from "express";
import { listen } from "./listen.ts";

const answer: unknown = JSON.parse(process.env.ANSWER ?? "null");

const app = express();
app.use(express.json());
app.post("/v1/crm/api-keys/verify", (req, res) => {
  if (typeof req.body.key !== "string") return void res.status(422).end();
  res.json(answer);
});
listen(app);
