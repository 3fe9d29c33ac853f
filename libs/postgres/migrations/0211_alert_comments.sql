-- What people write about an alert, and who takes care of it.
ALTER TABLE alert ADD COLUMN comment text, ADD COLUMN assignee text;
