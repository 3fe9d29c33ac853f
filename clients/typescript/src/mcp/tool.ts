import type { z } from 'zod'
import type { Session } from '../cli/session.ts'
import type { Confirmations } from './confirmations.ts'

/** For whom a tool works: the session with the caller's key, and the only organization that it reaches. */
export type ToolCaller = {
  session: Session
  organizationId: string
  confirmations: Confirmations
}

/** What a tool answers: `value` for programs, which the output schema limits to its members, and a short text. */
type ToolAnswer<Value> = { value: Value; text: string }

/** A tool of the MCP server. `about` is what the audit log says of a call beside the name of the tool. */
export type Tool<Input = unknown, Output = unknown> = {
  name: string
  title: string
  description: string
  input: z.ZodType<Input>
  output: z.ZodType<unknown, Output>
  /** How a tool changes something; absent for a tool that only reads. */
  writes?: { destructive: boolean; idempotent: boolean }
  about?: (input: Input) => string | undefined
  run: (caller: ToolCaller, input: Input) => Promise<ToolAnswer<Output>>
}

/** Infers the types of a tool from its schemas. */
export const tool = <Input, Output>(definition: Tool<Input, Output>): Tool => definition as unknown as Tool
