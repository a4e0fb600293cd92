import { isIP } from "node:net";
import { domainToASCII } from "node:url";

const MAX_DOMAIN_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;

/** Domains whose mailboxes anybody can have: they say nothing about an employer. */
const PUBLIC_MAIL_DOMAINS: ReadonlySet<string> = new Set(
  `126.com 163.com aim.com alice.it aol.com arcor.de att.net bellsouth.net bigpond.com bluewin.ch btinternet.com
  charter.net comcast.net cox.net duck.com earthlink.net email.com fastmail.com fastmail.fm free.fr freenet.de
  gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com hey.com hotmail.co.uk hotmail.com hotmail.de
  hotmail.es hotmail.fr hotmail.it hushmail.com icloud.com inbox.com inbox.ru juno.com laposte.net libero.it list.ru
  live.ca live.co.uk live.com live.fr live.nl lycos.com mac.com mail.com mail.de mail.ru me.com msn.com naver.com
  ntlworld.com o2.pl online.de onet.pl optonline.net optusnet.com.au orange.fr outlook.com outlook.de outlook.es
  outlook.fr pm.me posteo.de proton.me protonmail.ch protonmail.com qq.com rediffmail.com rocketmail.com sapo.pt
  sbcglobal.net seznam.cz sfr.fr shaw.ca sina.com sky.com sympatico.ca t-online.de talktalk.net telenet.be terra.com.br
  tiscali.it tuta.com tutanota.com uol.com.br verizon.net virgilio.it wanadoo.fr web.de windstream.net wp.pl xtra.co.nz
  yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.au yahoo.com.br yahoo.de yahoo.es yahoo.fr yahoo.it
  yandex.com yandex.ru ymail.com zoho.com`.split(/\s+/),
);

export function isPublicMailDomain(domain: string): boolean {
  return PUBLIC_MAIL_DOMAINS.has(domain.toLowerCase());
}

/** A domain in the one form that is stored: ASCII, lower case; null when it is none, such as an IP address. */
export function normalizeDomain(domain: string): string | null {
  // Node.js reads it as the host of a URL, where '1.2' is the address 1.0.0.2, and stops at what ends a host.
  if (/[/\\?#@:%\s]/.test(domain)) return null;
  const ascii = domainToASCII(domain).toLowerCase();
  if (ascii === "" || ascii.length > MAX_DOMAIN_LENGTH || isIP(ascii) !== 0) return null;
  return ascii.split(".").every((label) => label.length <= MAX_LABEL_LENGTH) ? ascii : null;
}

/** The employer's domain as an email tells it: null for public mail providers. */
export function domainOfEmail(email: string): string | null {
  const domain = normalizeDomain(email.slice(email.lastIndexOf("@") + 1));
  return domain === null || isPublicMailDomain(domain) ? null : domain;
}

/** The domains that these fields could link a person to. */
export function employersNamed({
  email,
  domain,
}: {
  email?: string | undefined;
  domain?: string | undefined;
}): string[] {
  const named = domain === undefined ? email && domainOfEmail(email) : normalizeDomain(domain);
  return named && !isPublicMailDomain(named) ? [named] : [];
}
