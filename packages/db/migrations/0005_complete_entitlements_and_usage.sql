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
