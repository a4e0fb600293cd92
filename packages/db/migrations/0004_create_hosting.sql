CREATE TABLE projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL,
  slug text NOT NULL CHECK (char_length(slug) BETWEEN 1 AND 255),
  repo text,
  -- User and password of an https repository, sealed; they are never part of `repo`.
  repo_credentials bytea,
  default_branch text NOT NULL DEFAULT 'main',
  build_config jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- When the files of a deleted project were removed.
  purged_at timestamptz
);
-- A deleted project frees its slug.
CREATE UNIQUE INDEX projects_slug_key ON projects (organization_id, slug) WHERE deleted_at IS NULL;
CREATE INDEX projects_created_at_idx ON projects (organization_id, created_at DESC) WHERE deleted_at IS NULL;

-- What runs: a project that is deployed directly is an app of its own under the project's slug.
CREATE TABLE apps (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  slug text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX apps_slug_key ON apps (organization_id, slug) WHERE deleted_at IS NULL;
CREATE INDEX apps_project_id_idx ON apps (project_id);

CREATE TABLE deployments (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  app_id uuid NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  -- Order of creation; a newer queued deployment supersedes older queued ones.
  position bigint GENERATED ALWAYS AS IDENTITY,
  -- What clients see and may set; the engine goes by `phase`.
  status text NOT NULL,
  phase text NOT NULL CHECK
    (phase IN ('queued', 'building', 'deploying', 'deployed', 'failed', 'cancelled', 'superseded')),
  branch text NOT NULL,
  commit_sha text NOT NULL,
  resolved_build_config jsonb,
  target_host jsonb,
  error text,
  cancel_requested_at timestamptz,
  -- Raised by each worker that takes the deployment; a worker with an older fence can no longer write.
  fence integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz
);
CREATE UNIQUE INDEX deployments_one_active_key ON deployments (app_id) WHERE phase IN ('building', 'deploying');
CREATE INDEX deployments_app_id_idx ON deployments (app_id, position DESC);
CREATE INDEX deployments_organization_id_idx ON deployments (organization_id, position DESC);
CREATE INDEX deployments_project_id_idx ON deployments (project_id, position DESC);

CREATE TABLE deployment_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  status text NOT NULL,
  message text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deployment_events_deployment_id_idx ON deployment_events (deployment_id, id);

CREATE TABLE deployment_log_lines (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  deployment_id uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  component text NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr', 'system')),
  at timestamptz NOT NULL,
  line text NOT NULL
);
CREATE INDEX deployment_log_lines_deployment_id_idx ON deployment_log_lines (deployment_id, id);
CREATE INDEX deployment_log_lines_since_idx ON deployment_log_lines (deployment_id, at);
CREATE INDEX deployment_log_lines_at_idx ON deployment_log_lines USING brin (at);

-- A frozen release: what was built and how it is started and checked, whatever the project says later.
CREATE TABLE releases (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  app_id uuid NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  deployment_id uuid NOT NULL UNIQUE REFERENCES deployments (id) ON DELETE CASCADE,
  component text NOT NULL,
  command text NOT NULL,
  settings jsonb NOT NULL,
  env jsonb NOT NULL,
  health jsonb NOT NULL,
  sandboxed boolean NOT NULL,
  -- starting: being gated. live: serves. draining: finishes open requests. stopped: kept for a rollback. removed: files gone.
  state text NOT NULL CHECK (state IN ('starting', 'live', 'draining', 'stopped', 'removed')),
  pid integer,
  start_token text,
  port integer,
  stdout_offset bigint NOT NULL DEFAULT 0,
  stderr_offset bigint NOT NULL DEFAULT 0,
  restarts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  live_at timestamptz,
  stopped_at timestamptz
);
CREATE UNIQUE INDEX releases_one_live_key ON releases (app_id, component) WHERE state = 'live';
CREATE INDEX releases_app_id_idx ON releases (app_id, created_at DESC);
CREATE INDEX releases_unfinished_idx ON releases (state) WHERE state IN ('starting', 'live', 'draining');

CREATE TABLE app_domains (
  host_name text PRIMARY KEY CHECK (host_name = lower(host_name)),
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  app_id uuid NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  component text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX app_domains_app_id_idx ON app_domains (app_id);
