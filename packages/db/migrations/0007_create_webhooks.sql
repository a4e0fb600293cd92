CREATE TABLE webhook_endpoints (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  -- `crm`: events about people and companies. `organization`: events of the platform.
  area text NOT NULL CHECK (area IN ('crm', 'organization')),
  name text NOT NULL,
  url text NOT NULL,
  -- Event types, or '*' for all of the area.
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  -- Sealed.
  secret bytea NOT NULL,
  status text NOT NULL CHECK (status IN ('enabled', 'disabled')),
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
