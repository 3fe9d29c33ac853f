import { send } from '../api/client.ts'
import type { AnswerOf, ApiAddress, Operation } from '../api/operations.ts'
import { type Resource, useResource } from './resource.ts'

/** An object of the API with its entity tag, which a change sends as `If-Match`. */
export type Entity<Value> = { value: Value; tag: string }

type EntityAt<Asked extends ApiAddress<'get'>> = Entity<AnswerOf<Operation<'get', Asked>>>

/** Reads one object with its entity tag. */
export async function readEntity<Asked extends ApiAddress<'get'>>(
  path: Asked,
  signal?: AbortSignal,
): Promise<EntityAt<Asked>> {
  const response = await send('get', path, signal ? { signal } : {})
  return { value: await response.json(), tag: response.headers.get('ETag') ?? '*' }
}

/** Follows one object with its entity tag. */
export const useEntity = <Asked extends ApiAddress<'get'>>(
  path: Asked,
  options: { everyMs?: number } = {},
): Resource<EntityAt<Asked>> => useResource(`entity ${path}`, (signal) => readEntity(path, signal), options)

/** The header that makes a change fail with 412 if somebody else changed the object since it was read. */
export const ifMatch = (tag: string): Record<string, string> => ({ 'If-Match': tag })
