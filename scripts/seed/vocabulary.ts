const words = (text: string): readonly string[] => text.trim().split(/\s+/);
const lines = (text: string): readonly string[] => text.trim().split(/\s*,\s*/);

/** The more common first. */
export const GIVEN_NAMES = words(`
  James Mary John Sarah Michael Emma David Anna Thomas Laura Daniel Maria Robert Julia William Sophie Peter Lucy Matthew
  Elizabeth Andrew Katherine Joseph Hannah Christopher Olivia Samuel Charlotte Paul Jessica Mark Rebecca Benjamin
  Jennifer Alexander Victoria Stephen Margaret Anthony Susan Edward Natalie Nicholas Patricia Richard Nicole Joshua
  Christine Jonathan Deborah Patrick Abigail Timothy Samantha Gregory Stephanie José Zoë Renée Jürgen Søren Łukasz Ahmed
  Fatima Wei Priya Arjun Yuki Olga Ivan Mehmet Aisha Kwame Ingrid Bjørn Amélie Hugo Noah Mia Leon Ella Oscar Freya Felix
  Clara Ruben Ines Mateo Lucía Diego Elena Marco Giulia Luca Chiara Nils Tomás Agnieszka Zofia Matyáš Björk Eszter Anaïs
`);

export const SURNAMES = words(`
  Smith Jones Williams Brown Taylor Davies Wilson Evans Thomas Johnson Roberts Walker Wright Robinson Thompson White
  Hughes Edwards Green Hall Wood Harris Lewis Martin Jackson Clarke Turner Hill Scott Cooper Morris Ward Moore King
  Watson Baker Harrison Morgan Patel Young Allen Mitchell Anderson Phillips Lee Bell Parker Davis Bennett Miller Cook
  Shaw Cox Richardson Marshall Collins Carter Bailey Gray Murphy Khan Ahmed Kelly Chapman Palmer Stevens Schmidt Müller
  Weber Fischer García Fernández López Nowak Kowalski Novák Horváth Rossi Ferrari Dubois Lefèvre Moreau Jansen Bakker
  Andersson Nielsen Virtanen Ivanova Petrov Yılmaz Nguyen Chen Wang Tanaka Suzuki Okafor Mensah Haddad Fitzgerald
  O'Brien Blackwood Ashworth Pemberton Holloway Lockwood Kingsley Søndergaard Østergaard Sjöberg Vařeka Peña Núñez Ågren
`);

export const COMPANY_WORDS = words(`
  North South River Blue Stone Harbor Light Cloud Green Peak Bright Silver Market Field Iron Oak Maple Solar Urban Prime
  Delta Nova Terra Vertex Lumen Atlas Orbit Cedar Quartz Ember Falcon Granite Meadow Anchor Beacon Cobalt Summit Willow
  Aurora Canyon Copper Crest Fern Glacier Hazel Juniper Lantern Marble Orchard Pine Raven Sable Tidal Vale Wren Zephyr
`);

export const TRADES = words(`
  Software Logistics Foods Media Energy Robotics Capital Studio Health Textiles Optics Motors Analytics Consulting
  Pharma Networks Design Farms Travel Insurance
`);

export const LEGAL_FORMS = words("Ltd Inc GmbH Group AB S.A. BV Partners");

export const MAIL_PROVIDERS = words("gmail.com outlook.com yahoo.com icloud.com gmx.de proton.me");

export const TITLES = lines(`
  Software Engineer, Account Manager, Sales Representative, Product Manager, Head of Marketing, Data Analyst,
  Operations Manager, Customer Success Manager, Chief Executive Officer, Head of Purchasing, Finance Director,
  Office Manager, Research Lead, Chief Technology Officer, Founder, Consultant, Support Engineer, Designer
`);

export const TAGS = words("lead customer newsletter trial partner vip event-2026 webinar churned referral");

export const SOURCES = words("website webinar referral event import advert partner");

export const CITIES: readonly (readonly [city: string, country: string])[] = [
  ["London", "GB"],
  ["New York", "US"],
  ["Berlin", "DE"],
  ["Paris", "FR"],
  ["Toronto", "CA"],
  ["Amsterdam", "NL"],
  ["Madrid", "ES"],
  ["Stockholm", "SE"],
  ["Warsaw", "PL"],
  ["Milan", "IT"],
  ["Zürich", "CH"],
  ["Malmö", "SE"],
  ["São Paulo", "BR"],
  ["Sydney", "AU"],
  ["Singapore", "SG"],
  ["Dublin", "IE"],
];

export const PAGES = words("/pricing /features /docs /blog/launch /customers /security /about /demo");

export const SUBJECTS = lines(`
  What is new this spring, Your invitation to the webinar, Three ways to save an hour a day, The annual report,
  A word from our founder, Last chance to register
`);
