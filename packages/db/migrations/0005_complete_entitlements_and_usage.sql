-- Billing may know an account before it exists here, so an entitlement belongs to the public id of a user.
ALTER TABLE entitlements ADD COLUMN user_uid uuid;
UPDATE entitlements e SET user_uid = u.uid FROM users u WHERE u.id = e.user_id;
ALTER TABLE entitlements
  DROP CONSTRAINT entitlements_pkey,
  DROP COLUMN user_id,
  ALTER COLUMN user_uid SET NOT NULL,
  ADD PRIMARY KEY (user_uid);

-- Idempotency keys are stored with the response in the transaction of the work; there is no lock to leave behind.
DELETE FROM idempotency_keys WHERE response_status IS NULL OR response_body IS NULL;
ALTER TABLE idempotency_keys
  DROP COLUMN locked_at,
  ALTER COLUMN response_status SET NOT NULL,
  ALTER COLUMN response_body SET NOT NULL;

-- When somebody set the plan by hand; payment events created up to then do not change it.
ALTER TABLE entitlements ADD COLUMN set_by_hand_at timestamptz;
UPDATE entitlements SET set_by_hand_at = updated_at;

-- The key that took this one's place.
ALTER TABLE api_keys ADD COLUMN successor_id uuid REFERENCES api_keys (id) ON DELETE SET NULL;

-- Events of the payment provider: what is used of each, and whether it was applied.
CREATE TABLE payment_events (
  id text PRIMARY KEY,
  type text NOT NULL,
  -- What the caller was told; a replay is told the same.
  handled boolean NOT NULL,
  -- Null when the event belongs to nobody.
  subscription_id text,
  facts jsonb,
  created_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  applied_at timestamptz
);
CREATE INDEX payment_events_subscription_id_idx ON payment_events (subscription_id);
CREATE INDEX payment_events_received_at_idx ON payment_events (received_at);

-- What the events of one subscription say together, whatever the order they came in.
CREATE TABLE payment_subscriptions (
  id text PRIMARY KEY,
  user_uid uuid,
  facts jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX payment_subscriptions_user_uid_idx ON payment_subscriptions (user_uid);

-- Requests of a key on one day (UTC): the sum of its hours, kept longer.
CREATE TABLE api_usage_days (
  api_key_id uuid NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  day date NOT NULL,
  requests bigint NOT NULL DEFAULT 0 CHECK (requests >= 0),
  errors bigint NOT NULL DEFAULT 0 CHECK (errors >= 0),
  PRIMARY KEY (api_key_id, day)
-- Rows are counted up again and again; with room beside them no index need change.
) WITH (fillfactor = 50);
ALTER TABLE api_usage_hours SET (fillfactor = 70);
CREATE INDEX api_usage_days_day_idx ON api_usage_days (day);
INSERT INTO api_usage_days (api_key_id, day, requests, errors)
  SELECT api_key_id, (hour AT TIME ZONE 'UTC')::date, sum(requests), sum(errors) FROM api_usage_hours GROUP BY 1, 2;
-- For pruning: small, and free for the updates of an hour.
CREATE INDEX api_usage_hours_hour_idx ON api_usage_hours USING brin (hour);

-- Reports of usage that came with an Idempotency-Key. Gateways belong to no organization.
CREATE TABLE usage_reports (
  key text PRIMARY KEY,
  request_hash bytea NOT NULL,
  response text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX usage_reports_expires_at_idx ON usage_reports (expires_at);
