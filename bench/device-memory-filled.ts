/** A filled part. `keep` uses it, so that a garbage collection before that does not remove it. */
export type FilledPart = { keep(): unknown }
