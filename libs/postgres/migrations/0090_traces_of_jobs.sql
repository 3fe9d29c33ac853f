-- The W3C trace context of the request that created the batch or the job; after the dispatch of a job, that of the dispatch.
-- Null while tracing is off.
ALTER TABLE job_batch ADD COLUMN traceparent text;
ALTER TABLE job ADD COLUMN traceparent text;
