-- What people write about a device; null without notes. A transfer clears it.
ALTER TABLE device ADD COLUMN notes text CHECK (notes <> '');
