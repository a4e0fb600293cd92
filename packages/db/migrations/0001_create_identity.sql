CREATE TABLE users (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid uuid NOT NULL UNIQUE,
  name text NOT NULL UNIQUE CHECK (name = lower(name)),
  email text,
  email_verified_at timestamptz,
  password_hash text,
  super_admin boolean NOT NULL DEFAULT false,
  disabled_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email_key ON users (lower(email));

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  slug text NOT NULL UNIQUE,
  -- A trusted organization's apps may run on the host `local` without a sandbox.
  trusted boolean NOT NULL DEFAULT false,
  personal_user_id integer UNIQUE REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memberships (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_user_id_idx ON memberships (user_id);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

-- One row for every JWT that was issued, so that each can be revoked by its jti.
CREATE TABLE issued_jwts (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX issued_jwts_expires_at_idx ON issued_jwts (expires_at);

CREATE TABLE role_tokens (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('ci-readonly', 'ci-publish', 'maintainer', 'admin')),
  package_scope text,
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX role_tokens_user_id_idx ON role_tokens (user_id);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Null: the key acts for its owner's personal organization.
  tenant_id uuid REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 120),
  environment text NOT NULL CHECK (environment IN ('live', 'test', 'dev')),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin']),
  key_hash bytea NOT NULL UNIQUE,
  prefix text NOT NULL,
  rate_limit_override jsonb,
  tool_allowlist jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_keys_user_id_idx ON api_keys (user_id, created_at DESC);

CREATE TABLE entitlements (
  user_id integer PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  plan text NOT NULL CHECK (plan IN ('free', 'starter', 'pro', 'team', 'enterprise')),
  entitled_until timestamptz,
  source text NOT NULL CHECK (char_length(source) BETWEEN 1 AND 40),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Requests of a key in one hour (UTC, truncated).
CREATE TABLE api_usage_hours (
  api_key_id uuid NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  requests bigint NOT NULL DEFAULT 0 CHECK (requests >= 0),
  errors bigint NOT NULL DEFAULT 0 CHECK (errors >= 0),
  PRIMARY KEY (api_key_id, hour)
);
