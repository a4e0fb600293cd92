import { z } from "zod";
import { dateTime, uuid } from "../platform/text.ts";
import { password, userName } from "./login.ts";

export const createUserInput = z.strictObject({
  name: userName,
  password: password.optional(),
  email: z.email().max(254).optional(),
});

export const userRecord = z.object({
  id: z.int(),
  uid: z.guid(),
  name: z.string(),
  email: z.string().nullable(),
  superAdmin: z.boolean(),
  emailVerifiedAt: dateTime.nullable(),
  disabledAt: dateTime.nullable(),
  createdAt: dateTime,
});

export const trustOrganizationInput = z.strictObject({ id: uuid, trusted: z.boolean() });
export const organizationRecord = z.object({ id: z.guid(), name: z.string(), slug: z.string(), trusted: z.boolean() });
