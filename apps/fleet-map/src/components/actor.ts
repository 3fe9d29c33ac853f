/** Who did something, for people to read. `actor`: as in audit records. `name`: as the service knows it. */
export function actorText(actor: string, name: string | null): string {
  if (name !== null) return name
  if (actor === 'system') return 'The service'
  if (actor.startsWith('device:')) return 'The router'
  if (actor.startsWith('enrollment-key:')) return 'A router with an enrollment key'
  if (actor.startsWith('person:')) return 'A person'
  if (actor.startsWith('email:')) return actor.slice('email:'.length)
  if (actor.startsWith('user:')) return actor.split('|').at(-1) ?? actor
  // Only keys of the platform have no name that organizations see.
  return actor.startsWith('key:') ? 'Platform administrator' : actor
}
