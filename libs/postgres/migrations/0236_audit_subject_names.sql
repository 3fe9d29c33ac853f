-- The last name of what an audit row is about, for the list of audit rows.
CREATE INDEX audit_entry_subject_name ON audit_entry (organization_id, subject_id, id DESC)
  WHERE jsonb_typeof(detail -> 'name') = 'string';
