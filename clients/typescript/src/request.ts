import type { FetchResponse, MaybeOptionalInit } from 'openapi-fetch'
import type { paths } from './openapi.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathWith<Verb extends Method> = {
  [Path in keyof paths]: paths[Path] extends { [Key in Verb]: object } ? Path : never
}[keyof paths]

export type Init<Path extends keyof paths, Verb extends Method> = MaybeOptionalInit<paths[Path], Verb>
type InitArgument<Value> = undefined extends Value ? [init?: Value] : [init: Value]

// The first argument of FetchResponse is the operation with its responses.
type Operation<Path extends keyof paths, Verb extends Method> = Extract<paths[Path][Verb & keyof paths[Path]], object>
type Data<Path extends keyof paths, Verb extends Method, Options> = NonNullable<
  FetchResponse<Operation<Path, Verb>, Options, 'application/json'>['data']
>

/** Sends a request and returns the body of its response. Throws a `ProblemError` for a response that is not successful. */
export type Send<Verb extends Method> = <Path extends PathWith<Verb>, Options extends Init<Path, Verb>>(
  path: Path,
  ...init: InitArgument<Options>
) => Promise<Data<Path, Verb, Options>>
