CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Ids of people come from callers: each organization has its own, and none can find out another's.
ALTER TABLE people DROP CONSTRAINT people_company_id_fkey, DROP CONSTRAINT people_pkey;
ALTER TABLE companies DROP CONSTRAINT companies_pkey, ADD PRIMARY KEY (organization_id, id);
ALTER TABLE people
  ADD PRIMARY KEY (organization_id, id),
  ADD FOREIGN KEY (organization_id, company_id) REFERENCES companies (organization_id, id),
  -- Sum of touchpoint weights, halved every 30 days, as it was at `engagement_at`; and the sum without that decay.
  ADD COLUMN engagement double precision NOT NULL DEFAULT 0 CHECK (engagement >= 0),
  ADD COLUMN engagement_at timestamptz,
  ADD COLUMN engagement_total double precision NOT NULL DEFAULT 0 CHECK (engagement_total >= 0),
  -- When decay lowers the score by the next point; null when nothing is left to decay.
  ADD COLUMN score_due_at timestamptz;

-- One index for every order of the list, so that page 1,000 costs what page 1 costs.
DROP INDEX people_organization_id_idx;
CREATE INDEX people_created_at_idx ON people (organization_id, created_at, id);
CREATE INDEX people_updated_at_idx ON people (organization_id, updated_at, id);
CREATE INDEX people_score_idx ON people (organization_id, score, id);
CREATE INDEX people_name_idx ON people (organization_id, lower(coalesce(name, '')), id);
-- One index for every filter.
CREATE INDEX people_email_idx ON people (organization_id, lower(email)) WHERE email IS NOT NULL;
CREATE INDEX people_domain_idx ON people (organization_id, domain, created_at, id) WHERE domain IS NOT NULL;
CREATE INDEX people_company_id_idx ON people (organization_id, company_id, created_at, id)
  WHERE company_id IS NOT NULL;
-- Without pending lists, because reads would pay for them; the text index, whose upkeep costs most, has a short one.
-- A sample that is large enough to tell rare tags from common ones: the plan depends on it.
ALTER TABLE people ALTER COLUMN tags SET STATISTICS 1000;
CREATE INDEX people_tags_idx ON people USING gin (organization_id, tags) WITH (fastupdate = off);
CREATE INDEX people_attributes_idx ON people USING gin (organization_id, attributes jsonb_path_ops)
  WITH (fastupdate = off);
CREATE INDEX people_text_idx ON people
  USING gin (organization_id, lower(coalesce(name, '') || ' ' || coalesce(email, '')) gin_trgm_ops)
  WITH (fastupdate = on, gin_pending_list_limit = 256);
CREATE INDEX people_score_due_at_idx ON people (score_due_at) WHERE score_due_at IS NOT NULL;

DROP INDEX companies_domain_key;
CREATE UNIQUE INDEX companies_domain_key ON companies (organization_id, domain) WHERE domain IS NOT NULL;
CREATE INDEX companies_created_at_idx ON companies (organization_id, created_at, id);
CREATE INDEX companies_text_idx ON companies
  USING gin (organization_id, lower(name || ' ' || coalesce(domain, '')) gin_trgm_ops) WITH (fastupdate = off);

CREATE TABLE campaigns (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('draft', 'active', 'paused', 'completed', 'archived')),
  description text,
  starts_at timestamptz,
  ends_at timestamptz,
  attributes jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX campaigns_created_at_idx ON campaigns (organization_id, created_at, id);
CREATE INDEX campaigns_status_idx ON campaigns (organization_id, status, created_at, id);
CREATE INDEX campaigns_text_idx ON campaigns USING gin (organization_id, lower(name) gin_trgm_ops)
  WITH (fastupdate = off);

-- What happened with a person: touchpoints, and the person's own changes.
CREATE TABLE timeline_events (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz NOT NULL,
  title text NOT NULL,
  data jsonb NOT NULL DEFAULT '{}',
  campaign_id uuid,
  -- What the touchpoint adds to the person's engagement; null for the person's own changes.
  weight double precision CHECK (weight >= 0),
  -- Whose it was before people were merged, so that a merge can be undone.
  merged_from uuid,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, person_id) REFERENCES people (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, campaign_id) REFERENCES campaigns (organization_id, id)
);
CREATE INDEX timeline_events_person_id_idx
  ON timeline_events (organization_id, person_id, occurred_at DESC, id DESC);
CREATE INDEX timeline_events_campaign_id_idx ON timeline_events (organization_id, campaign_id)
  WHERE campaign_id IS NOT NULL;

-- Ids of people who were merged into another.
CREATE TABLE person_redirects (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, person_id) REFERENCES people (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX person_redirects_person_id_idx ON person_redirects (organization_id, person_id);

-- Each merge, with both people as they were, so that it can be undone.
CREATE TABLE person_merges (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  survivor_id uuid NOT NULL,
  merged_id uuid NOT NULL,
  survivor_before jsonb NOT NULL,
  survivor_after jsonb NOT NULL,
  merged_before jsonb NOT NULL,
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  undone_at timestamptz,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX person_merges_survivor_id_idx ON person_merges (organization_id, survivor_id, created_at DESC);

-- Emails that were lost in merges, in lower case: who is named by such an email is the survivor. The newest merge of a
-- survivor is undone first, so one row is enough of an email that several merges brought: that of the first.
CREATE TABLE person_email_aliases (
  organization_id uuid NOT NULL,
  email text NOT NULL,
  person_id uuid NOT NULL,
  -- The merge into this person that brought the email, be it the merged person's own or an alias of theirs.
  merge_id uuid NOT NULL,
  PRIMARY KEY (organization_id, email, person_id),
  FOREIGN KEY (organization_id, person_id) REFERENCES people (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX person_email_aliases_person_id_idx ON person_email_aliases (organization_id, person_id);

-- Pairs that somebody looked at and found to be two people; the smaller id first.
CREATE TABLE duplicate_dismissals (
  organization_id uuid NOT NULL,
  first_id uuid NOT NULL,
  second_id uuid NOT NULL,
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, first_id, second_id),
  CHECK (first_id < second_id),
  FOREIGN KEY (organization_id, first_id) REFERENCES people (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, second_id) REFERENCES people (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX duplicate_dismissals_second_id_idx ON duplicate_dismissals (organization_id, second_id);
