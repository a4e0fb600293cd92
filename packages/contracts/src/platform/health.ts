import { z } from "zod";

export const registryHealth = z.object({
  status: z.enum(["ok", "unavailable"]),
  version: z.string(),
  db: z.enum(["up", "down"]),
});

export const crmHealth = z.object({
  ok: z.boolean(),
  db: z.enum(["up", "down"]),
  error: z.string().optional(),
});

export const crmStats = z.object({ people: z.int(), companies: z.int() });
