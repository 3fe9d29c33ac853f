import { z } from 'zod'
import { type Tool, type ToolCaller, tool } from './tool.ts'

/** What a tool would do: the plan as text and for programs, and what does it. `changes` is what must stay the same. */
export type Prepared = {
  plan: Record<string, unknown>
  planText: string
  changes: unknown
  act(): Promise<{ result: Record<string, unknown>; text: string }>
}

type ConfirmedTool<Shape extends z.ZodRawShape> = Pick<Tool, 'name' | 'title' | 'description'> & {
  input: z.ZodObject<Shape>
  writes: NonNullable<Tool['writes']>
  about: (input: z.output<z.ZodObject<Shape>>) => string | undefined
  prepare: (caller: ToolCaller, input: z.output<z.ZodObject<Shape>>) => Promise<Prepared>
}

const members = z.record(z.string(), z.unknown()).nullable()

const output = z.object({
  done: z.boolean(),
  plan: members.describe('What would be done; null when it is done.'),
  confirm: z.string().nullable().describe('Send it with the same arguments to do what the plan says.'),
  expiresAt: z.string().nullable().describe('Until when `confirm` is valid.'),
  result: members,
})

/**
 * A tool that changes something in two calls. The first one returns a plan and a confirmation. The second one, with the same
 * arguments and the confirmation, makes the plan again and does it if nothing in it has changed.
 */
export function confirmedTool<Shape extends z.ZodRawShape>(definition: ConfirmedTool<Shape>): Tool {
  const { name, description, input, prepare, about } = definition
  const confirm = z.uuid().optional().describe('The confirmation of a plan that the person agreed to.')
  return tool({
    ...definition,
    description: `${description} Without \`confirm\`, returns a plan and changes nothing.`,
    input: input.extend({ confirm }) as unknown as z.ZodType<Record<string, unknown>>,
    output,
    about: (given) => about(given as z.output<z.ZodObject<Shape>>),
    async run(caller, { confirm: sent, ...request }) {
      const { session, organizationId, confirmations } = caller
      const prepared = await prepare(caller, request as z.output<z.ZodObject<Shape>>)
      const what = { key: session.key, organizationId, tool: name, request, plan: prepared.changes }
      const isSame = typeof sent === 'string' && confirmations.use(sent, what)
      if (isSame) {
        const { result, text } = await prepared.act()
        return { value: { done: true, plan: null, confirm: null, expiresAt: null, result }, text }
      }
      const issued = confirmations.issue(what)
      const first = sent === undefined ? 'Nothing was changed yet.' : 'The plan has changed, and nothing was done.'
      const next = `To do it, call ${name} with the same arguments and confirm: ${issued.confirm} (until ${issued.expiresAt}).`
      const value = { done: false, plan: prepared.plan, ...issued, result: null }
      return { value, text: `${first}\n${prepared.planText}\n\n${next}` }
    },
  })
}
