import { z } from 'zod'
import { type Tool, type ToolCaller, tool } from './tool.ts'

/** What a tool would do: the plan, also as text, and what does it. `changes` is what must stay the same until then. */
export type Prepared<Plan, Result> = {
  plan: Plan
  planText: string
  changes: unknown
  act(): Promise<{ result: Result; text: string }>
}

type ConfirmedTool<Shape extends z.ZodRawShape, Plan, Result> = Pick<Tool, 'name' | 'title' | 'description'> & {
  input: z.ZodObject<Shape>
  plan: z.ZodType<unknown, Plan>
  result: z.ZodType<unknown, Result>
  writes: NonNullable<Tool['writes']>
  about: (input: z.output<z.ZodObject<Shape>>) => string | undefined
  prepare: (caller: ToolCaller, input: z.output<z.ZodObject<Shape>>) => Promise<Prepared<Plan, Result>>
}

/**
 * A tool that changes something in two calls. The first one returns a plan and a confirmation. The second one, with the same
 * arguments and the confirmation, makes the plan again and does it if nothing in it has changed.
 */
export function confirmedTool<Shape extends z.ZodRawShape, Plan, Result>(
  definition: ConfirmedTool<Shape, Plan, Result>,
): Tool {
  const { name, title, description, input, plan, result, writes, about, prepare } = definition
  const confirm = z.uuid().optional().describe('The confirmation of a plan that the person agreed to.')
  return tool({
    ...{ name, title, writes },
    description: `${description} Without \`confirm\`, returns a plan and changes nothing.`,
    input: input.extend({ confirm }) as unknown as z.ZodType<Record<string, unknown>>,
    output: z.object({
      done: z.boolean(),
      plan: plan.nullable().describe('What would be done; null when it is done.'),
      confirm: z.string().nullable().describe('Send it with the same arguments to do what the plan says.'),
      expiresAt: z.string().nullable().describe('Until when `confirm` is valid.'),
      result: result.nullable().describe('What was done; null for a plan.'),
    }),
    about: (given) => about(given as z.output<z.ZodObject<Shape>>),
    async run(caller, { confirm: sent, ...request }) {
      const { session, organizationId, confirmations } = caller
      const prepared = await prepare(caller, request as z.output<z.ZodObject<Shape>>)
      const what = { key: session.key, organizationId, tool: name, request, plan: prepared.changes }
      if (typeof sent === 'string' && confirmations.use(sent, what)) {
        const { result: done, text } = await prepared.act()
        return { value: { done: true, plan: null, confirm: null, expiresAt: null, result: done }, text }
      }
      const issued = confirmations.issue(what)
      const first = sent === undefined ? 'Nothing was changed yet.' : 'The plan has changed, and nothing was done.'
      const next = `To do it, call ${name} with the same arguments and confirm: ${issued.confirm} (until ${issued.expiresAt}).`
      const value = { done: false, plan: prepared.plan, ...issued, result: null }
      return { value, text: `${first}\n${prepared.planText}\n\n${next}` }
    },
  })
}
