type ConflictProps = { what: string; onReload: () => void }

/** Explains that somebody else changed the object since it was read, and offers the current version. */
export const Conflict = ({ what, onReload }: ConflictProps) => (
  <div class="notice bad" role="alert">
    <p>Somebody else changed this {what} after you opened it. Your changes are not saved.</p>
    <button type="button" class="button small" style={{ marginTop: 'var(--space-2)' }} onClick={onReload}>
      Load the current version
    </button>
  </div>
)
