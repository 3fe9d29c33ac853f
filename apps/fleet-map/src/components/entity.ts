import { send } from '../api/client.ts'
import { type Resource, useResource } from './resource.ts'

/** An object of the API with its entity tag, which a change sends as `If-Match`. */
export type Entity<Value> = { value: Value; tag: string }

/** Reads one object with its entity tag. */
export async function readEntity<Value>(path: string, signal?: AbortSignal): Promise<Entity<Value>> {
  const response = await send(path, signal ? { signal } : {})
  return { value: (await response.json()) as Value, tag: response.headers.get('ETag') ?? '*' }
}

/** Follows one object with its entity tag. */
export const useEntity = <Value>(path: string, options: { everyMs?: number } = {}): Resource<Entity<Value>> =>
  useResource(`entity ${path}`, (signal) => readEntity<Value>(path, signal), options)

/** The header that makes a change fail with 412 if somebody else changed the object since it was read. */
export const ifMatch = (tag: string): Record<string, string> => ({ 'If-Match': tag })
