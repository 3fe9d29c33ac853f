-- Few devices were ever transferred. Reads of votes find them by this index, among all devices of an organization.
CREATE INDEX device_ownership_ended ON device_ownership (device_id) WHERE owned_to IS NOT NULL;
