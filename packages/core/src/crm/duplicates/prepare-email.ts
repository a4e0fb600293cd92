import { foldText, showText, textOf } from "./fold-text.ts";
import { type Word, wordFrom } from "./text-distance.ts";

export interface PreparedEmail {
  /** Lower case, without tags; without the dots that Gmail ignores. */
  readonly address: string;
  /** The part before the @ without separators. */
  readonly local: Word;
  readonly domain: Word;
  readonly isRole: boolean;
  readonly isPublic: boolean;
  readonly shown: string;
}

/** Mailboxes that several people read. */
const ROLES = new Set(
  (
    "info sales support contact hello office admin administrator billing accounts accounting invoice invoices team " +
    "service services help helpdesk enquiries inquiries mail post marketing press media jobs careers hr recruiting " +
    "noreply donotreply webmaster postmaster hostmaster abuse security privacy legal orders order shop store booking " +
    "bookings reservations reception feedback newsletter kontakt buero kundenservice rechnung contacto ventas"
  ).split(" "),
);

const PUBLIC_DOMAINS = new Set(
  (
    "gmail.com googlemail.com yahoo.com yahoo.co.uk yahoo.fr yahoo.de yahoo.com.au ymail.com rocketmail.com outlook.com " +
    "outlook.de hotmail.com hotmail.co.uk hotmail.fr hotmail.de live.com live.co.uk msn.com icloud.com me.com mac.com " +
    "aol.com proton.me protonmail.com pm.me fastmail.com zoho.com mail.com email.com gmx.com gmx.de gmx.net gmx.at gmx.ch " +
    "web.de t-online.de freenet.de posteo.de mailbox.org orange.fr wanadoo.fr free.fr laposte.net sfr.fr libero.it " +
    "virgilio.it tin.it bigpond.com bigpond.net.au optusnet.com.au btinternet.com sky.com talktalk.net virginmedia.com " +
    "comcast.net verizon.net att.net sbcglobal.net cox.net charter.net bellsouth.net earthlink.net rogers.com shaw.ca " +
    "qq.com 163.com 126.com sina.com naver.com daum.net mail.ru yandex.ru yandex.com rambler.ru bk.ru seznam.cz wp.pl " +
    "o2.pl interia.pl uol.com.br bol.com.br terra.com.br rediffmail.com hey.com tutanota.com duck.com"
  ).split(" "),
);

/** Undefined for what is no address. */
export function prepareEmail(value: unknown): PreparedEmail | undefined {
  const raw = textOf(value);
  const folded = foldText(raw);
  const at = folded.lastIndexOf("@");
  const domain = cleanDomain(folded.slice(at + 1));
  if (at < 1 || domain === "" || /\s/.test(folded)) return undefined;
  let local = folded.slice(0, at);
  const tag = local.indexOf("+");
  if (tag > 0) local = local.slice(0, tag);
  const isGmail = domain === "gmail.com" || domain === "googlemail.com";
  if (isGmail) local = local.replaceAll(".", "") || local;
  const letters = local.replace(/[._-]/g, "") || local;
  return {
    address: `${local}@${isGmail ? "gmail.com" : domain}`,
    local: wordFrom(letters),
    domain: wordFrom(isGmail ? "gmail.com" : domain),
    isRole: ROLES.has(letters),
    isPublic: PUBLIC_DOMAINS.has(domain),
    shown: showText(raw),
  };
}

/** The domain of a company, from a domain or a website's address; undefined for public providers' domains. */
export function prepareDomain(value: unknown): Word | undefined {
  const domain = cleanDomain(foldText(textOf(value)));
  return domain === "" || PUBLIC_DOMAINS.has(domain) ? undefined : wordFrom(domain);
}

function cleanDomain(text: string): string {
  const scheme = text.indexOf("://");
  let domain = scheme < 0 ? text : text.slice(scheme + 3);
  const end = domain.search(/[/?#:]/);
  if (end >= 0) domain = domain.slice(0, end);
  domain = domain.trim();
  if (domain.startsWith("www.")) domain = domain.slice(4);
  if (domain.endsWith(".")) domain = domain.slice(0, -1);
  return domain.includes(".") ? domain : "";
}
