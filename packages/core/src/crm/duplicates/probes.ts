import type { PersonRow } from "../people/person-state.ts";
import { kindOfAttribute } from "./attribute-kinds.ts";
import { textOf } from "./fold-text.ts";
import { prepareEmail } from "./prepare-email.ts";

/** What to look for in the indexes to find records that may be of the same person. */
export interface Probes {
  id: string;
  /** In lower case. */
  emails: string[];
  /** Objects that attributes must contain. */
  attributes: Record<string, unknown>[];
  /** Texts to which names and emails must be similar: the name, and the email's part before the @. */
  texts: string[];
  /** Name and email, by which the most similar of many are told. */
  whole: string;
}

const MAX_EMAILS = 8;
const MAX_ATTRIBUTES = 24;
const LEAST_LETTERS = 3;
/** Keys under which a number is looked for besides its own. */
const PHONE_KEYS = ["phone", "mobile"];

/** With `everySpelling` a phone number is also looked for as bare digits and under other keys. */
export function probesOf(person: PersonRow, { everySpelling }: { everySpelling: boolean }): Probes {
  const emails = new Set<string>();
  const attributes = new Map<string, Record<string, unknown>>();
  const addEmail = (value: unknown) => {
    const prepared = prepareEmail(value);
    if (prepared !== undefined) emails.add(textOf(value).toLowerCase()).add(prepared.address);
  };
  const addAttribute = (key: string, value: unknown) => {
    if (attributes.size < MAX_ATTRIBUTES) attributes.set(`${key}\n${typeof value}\n${value}`, { [key]: value });
  };
  addEmail(person.email);
  for (const [key, value] of Object.entries(person.attributes)) {
    const kind = kindOfAttribute(key);
    if (kind === "email") addEmail(value);
    if (kind !== "birthDate" && kind !== "identifier" && kind !== "phone" && kind !== "mobile") continue;
    if (textOf(value) === "") continue;
    addAttribute(key, value);
    if (everySpelling && (kind === "phone" || kind === "mobile")) {
      for (const text of spellingsOf(textOf(value))) {
        for (const phoneKey of [key, ...PHONE_KEYS]) addAttribute(phoneKey, text);
      }
    }
  }
  return {
    id: person.id,
    emails: [...emails].slice(0, MAX_EMAILS),
    attributes: [...attributes.values()],
    texts: textsOf(person),
    whole: `${person.name ?? ""} ${person.email ?? ""}`,
  };
}

function spellingsOf(phone: string): string[] {
  const digits = phone.replace(/[^0-9]/g, "");
  return [...new Set([phone, digits, `+${digits}`])];
}

function textsOf({ name, email }: PersonRow): string[] {
  const texts = [name ?? ""];
  const prepared = prepareEmail(email);
  if (prepared !== undefined && !prepared.isRole) texts.push(email?.split("@")[0]?.split("+")[0] ?? "");
  return [...new Set(texts.map((text) => text.toLowerCase()))].filter(
    (text) => (text.match(/[\p{L}\p{N}]/gu) ?? []).length >= LEAST_LETTERS,
  );
}
