CREATE TABLE webhook_endpoints (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  -- `crm`: events about people and companies. `organization`: events of the platform.
  area text NOT NULL CHECK (area IN ('crm', 'organization')),
  name text NOT NULL,
  url text NOT NULL,
  -- Event types, or '*' for all of the area.
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  -- Sealed. The previous one signs too until the given time.
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_secret_until timestamptz,
  status text NOT NULL CHECK (status IN ('enabled', 'disabled')),
  disabled_reason text,
  -- Since when nothing was delivered; null after a success.
  failing_since timestamptz,
  -- Deliveries a second that the receiver takes, learnt from its refusals; null: no limit is known.
  pace double precision,
  -- Nothing is sent before this time: the receiver asked for a pause, or hangs.
  paused_until timestamptz,
  -- Hidden and disabled from then on; a job removes it with its deliveries, which may be millions.
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_endpoints_organization_id_idx ON webhook_endpoints (organization_id, area, created_at);

-- The outbox: written in the transaction of the change, when an endpoint listens to the type.
CREATE TABLE webhook_events (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  area text NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  occurred_at timestamptz NOT NULL
);
CREATE INDEX webhook_events_organization_id_idx ON webhook_events (organization_id, occurred_at);
CREATE INDEX webhook_events_occurred_at_idx ON webhook_events (occurred_at);

-- One event for one endpoint. Its id is what the receiver sees in all attempts.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
  event_id uuid NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
  type text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'cancelled')),
  attempts integer NOT NULL DEFAULT 0,
  -- Attempts that are allowed in all; a resend allows more.
  max_attempts integer NOT NULL,
  -- Null when nothing is to be sent any more.
  next_attempt_at timestamptz,
  -- Live traffic is 0; what is sent again in bulk comes after it.
  priority smallint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  finished_at timestamptz
);
-- With the status first, a page of one status costs no more than a page of all, which is merged from the four.
CREATE INDEX webhook_deliveries_history_idx ON webhook_deliveries (endpoint_id, status, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, priority, next_attempt_at)
  WHERE status = 'pending';
CREATE INDEX webhook_deliveries_event_id_idx ON webhook_deliveries (event_id);

-- Written before a request is sent, completed when it ended.
CREATE TABLE webhook_attempts (
  delivery_id uuid NOT NULL REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
  attempt integer NOT NULL,
  at timestamptz NOT NULL,
  status_code integer,
  duration_ms integer,
  error_class text,
  error text,
  response_body text,
  truncated boolean NOT NULL DEFAULT false,
  address text,
  timings jsonb,
  PRIMARY KEY (delivery_id, attempt)
);

-- Organizations whose deliveries somebody follows, or followed within a day: their activity is written down.
CREATE TABLE webhook_watches (
  organization_id uuid PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
  until timestamptz NOT NULL
);

-- What became of deliveries, for who follows them. Kept for a day.
CREATE TABLE webhook_activity (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Given when a reader first sees the row, so that nothing turns up behind what was read already.
  position bigint,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  endpoint_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  status text NOT NULL,
  attempt integer NOT NULL,
  status_code integer,
  at timestamptz NOT NULL
);
CREATE SEQUENCE webhook_activity_positions OWNED BY webhook_activity.position;
CREATE INDEX webhook_activity_position_idx ON webhook_activity (organization_id, position);
