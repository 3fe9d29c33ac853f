import type { paths } from '#client/openapi'
import type { Method } from '#client/request'

// The types of requests and responses, from the OpenAPI document of the service.

/** `/orgs/${string}/groups` for `/orgs/{orgId}/groups`. */
type Filled<Path extends string> = Path extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Filled<Tail>}`
  : Path

type PathWith<Verb extends Method> = {
  [Path in keyof paths]: paths[Path] extends { [Key in Verb]: object } ? Path : never
}[keyof paths]

/** The addresses of a method. Many match the pattern of a shorter one, so `Known` checks them. */
export type ApiAddress<Verb extends Method> = Filled<PathWith<Verb>>

/** The operation of an address, which has `${string}` for each parameter. */
export type Operation<Verb extends Method, Asked extends string> = Asked extends string
  ? { [Path in PathWith<Verb>]: Same<Filled<Path>, Asked> extends true ? paths[Path][Verb] : never }[PathWith<Verb>]
  : never

type Same<One, Other> = [One, Other] extends [Other, One] ? true : false

/** The arguments of a call; none that can be given if the service does not have the operation. */
export type Known<Called, Arguments extends unknown[]> = [Called] extends [never] ? [unknownAddress: never] : Arguments

/** A query. Parameters that are null, undefined or '' are not sent. */
export type QueryOf<Called> = Called extends { parameters: { query?: infer Query } }
  ? { [Name in keyof Query]: Query[Name] | FlagOf<Query[Name]> | null | undefined | '' }
  : never

type FlagOf<Value> = [Value] extends ['true' | 'false' | undefined] ? boolean : never

/** The JSON that a request sends. */
export type BodyOf<Called> = Called extends { requestBody?: { content: { 'application/json': infer Body } } }
  ? Body
  : never

/** True if the JSON cannot be left out. */
export type NeedsBody<Called> = Called extends { requestBody: { content: infer Content } }
  ? [keyof Content] extends ['application/json']
    ? true
    : false
  : false

type SuccessOf<Called> = Called extends { responses: infer Answers }
  ? Answers[keyof Answers & (200 | 201 | 202)]
  : never

type AnyAnswerOf<Called> =
  SuccessOf<Called> extends { content: { 'application/json': infer Answer } } ? Answer : undefined

/** The JSON of a successful response; undefined for a response without content. */
export type AnswerOf<Called> = Exclude<AnyAnswerOf<Called>, { dryRun: true }>

/** The JSON of the response to a dry run. */
export type PlanOf<Called> = Extract<AnyAnswerOf<Called>, { dryRun: true }>

/** The item of a list, which is read page by page. */
export type ListItemOf<Called> =
  AnswerOf<Called> extends { items: (infer Item)[]; nextCursor: string | null } ? Item : never
