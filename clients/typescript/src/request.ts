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
type AnyData<Path extends keyof paths, Verb extends Method, Options> = NonNullable<
  FetchResponse<Operation<Path, Verb>, Options, 'application/json'>['data']
>
type Plan = { dryRun: true }
type Data<Path extends keyof paths, Verb extends Method, Options> = Exclude<AnyData<Path, Verb, Options>, Plan>

type PathWithPlan = {
  [Path in PathWith<'post'>]: Extract<AnyData<Path, 'post', object>, Plan> extends never ? never : Path
}[PathWith<'post'>]

/** Sends a request as a dry run, which creates nothing, and returns what it would create. Throws a `ProblemError`. */
export type SendDryRun = <Path extends PathWithPlan, Options extends Init<Path, 'post'>>(
  path: Path,
  ...init: InitArgument<Options>
) => Promise<Extract<AnyData<Path, 'post', Options>, Plan>>

/** Sends a request and returns the body of its response. Throws a `ProblemError` for a response that is not successful. */
export type Send<Verb extends Method> = <Path extends PathWith<Verb>, Options extends Init<Path, Verb>>(
  path: Path,
  ...init: InitArgument<Options>
) => Promise<Data<Path, Verb, Options>>
